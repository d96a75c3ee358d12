/** The slots that two processes get from one shaper: both reserve in one store, which keeps the pace. */

import { memoryStore } from '../../packages/core/src/index.js';
import { ManualClock } from '../../packages/core/src/testing.js';
import { createShaper } from '../../packages/outgoing/src/index.js';
import { circle, line, svg, text } from './svg.js';

/** When each process reserves a slot, in milliseconds. */
const ASKED_MS: readonly (readonly [process: 0 | 1, atMs: number])[] = [
  [0, 0],
  [0, 0],
  [1, 100],
  [0, 150],
  [1, 300],
  [1, 300],
  [0, 1_000],
  [1, 1_900],
  [0, 2_000],
];

interface Slot {
  readonly process: 0 | 1;
  readonly askedMs: number;
  readonly startsMs: number;
}

export async function shaper(): Promise<string> {
  const [left, top, rowHeight] = [110, 64, 60];
  const xOf = (ms: number): number => left + ms * 0.25;
  const bottom = top + 2 * rowHeight;
  const shapes = [text(16, 26, 'One shaper in two processes: 4 per second', 'title')];
  for (let ms = 0; ms <= 2_500; ms += 250) {
    shapes.push(line([xOf(ms), top - 14], [xOf(ms), bottom], 'edge'));
    if (ms % 500 === 0) shapes.push(text(xOf(ms), bottom + 16, `${ms} ms`, 'quiet middle'));
  }
  for (const process of [0, 1]) {
    const y = top + process * rowHeight + 24;
    shapes.push(
      text(16, y + 4, `process ${process + 1}`),
      line([xOf(0), y], [xOf(2_500), y], 'axis'),
    );
  }
  for (const { process, askedMs, startsMs } of await slots()) {
    const y = top + process * rowHeight + 24;
    shapes.push(line([xOf(askedMs), y - 14], [xOf(startsMs), y], 'axis'));
    shapes.push(circle([xOf(askedMs), y - 14], 3, 'no'), circle([xOf(startsMs), y], 6, 'a'));
  }
  shapes.push(
    circle([22, bottom + 42], 3, 'no'),
    text(34, bottom + 46, 'asks for a slot', 'quiet'),
    circle([162, bottom + 42], 6, 'a'),
    text(174, bottom + 46, 'its work starts', 'quiet'),
  );
  const alternative = 'The slots of two processes that share a shaper with 4 starts per second';
  return svg(780, bottom + 62, alternative, shapes);
}

export async function slots(): Promise<Slot[]> {
  const clock = new ManualClock();
  const startUs = clock.nowUs();
  const store = memoryStore({ clock });
  const shapers = [0, 1].map(() =>
    createShaper({ name: 'acme', limit: 4, window: '1s' }, { store }),
  );
  const all: Slot[] = [];
  for (const [process, askedMs] of ASKED_MS) {
    clock.setUs(startUs + askedMs * 1_000);
    const reservation = await shapers[process]?.reserve('partner');
    if (!reservation?.allowed) throw new Error('the longest wait is too short for the picture');
    all.push({ process, askedMs, startsMs: askedMs + reservation.delayMs });
  }
  return all;
}
