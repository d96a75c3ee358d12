import { count } from './words.js';

const EVERY_MS = 100;
const WIDTH = 30;

interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

interface Progress {
  readonly bytes: number;
  readonly size: number | undefined;
  readonly requests: number;
}

export function progressBar(
  terminal: Terminal,
  nowMs: () => number = () => performance.now(),
): { show(progress: Progress): void; end(): void } {
  if (!terminal.isTTY) return { show: () => {}, end: () => {} };
  let shownMs = -Infinity;
  return {
    show: (progress) => {
      if (nowMs() - shownMs < EVERY_MS) return;
      shownMs = nowMs();
      terminal.write(`\r\u001b[K${lineOf(progress)}`);
    },
    end: () => terminal.write('\r\u001b[K'),
  };
}

function lineOf({ bytes, size, requests }: Progress): string {
  const read = `${count(requests)} requests`;
  if (size === undefined) return `${count(Math.floor(bytes / 1_000_000))} MB, ${read}`;
  const share = size === 0 ? 1 : Math.min(1, bytes / size);
  const done = Math.floor(share * WIDTH);
  return `[${'#'.repeat(done)}${'.'.repeat(WIDTH - done)}] ${Math.floor(share * 100)} %, ${read}`;
}
