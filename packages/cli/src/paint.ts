import { styleText } from 'node:util';

type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow';

interface Stream {
  readonly isTTY?: boolean;
  hasColors?(): boolean;
}

/** Decides as commander's help does: by NO_COLOR, then FORCE_COLOR, then what the terminal supports. */
export function isColoured(stream: Stream, env: NodeJS.ProcessEnv = process.env): boolean {
  const { NO_COLOR, FORCE_COLOR } = env;
  if (NO_COLOR || FORCE_COLOR === '0' || FORCE_COLOR === 'false') return false;
  return FORCE_COLOR ? true : stream.isTTY === true && stream.hasColors?.() === true;
}

export function paint(style: Style, text: string, stream: Stream = process.stdout): string {
  // `isColoured` has checked the stream.
  return isColoured(stream) ? styleText(style, text, { validateStream: false }) : text;
}

const BY_WORD: Readonly<Record<string, Style>> = {
  off: 'red',
  block: 'red',
  shadow: 'yellow',
  enforce: 'green',
  allow: 'green',
};

export function paintValue(text: string): string {
  const style = BY_WORD[/^[a-z]+/.exec(text)?.[0] ?? ''];
  return style ? paint(style, text) : text;
}
