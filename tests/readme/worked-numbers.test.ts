/** The first table of docs/algorithms.md: what each algorithm answers to the same requests. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createLimiter,
  fixedWindow,
  memoryStore,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { expect, it } from 'vitest';
import { ROOT } from './snippets.js';

const page = readFileSync(join(ROOT, 'docs', 'algorithms.md'), 'utf8');
const [head = [], , ...rows] = page
  .slice(page.indexOf('| request at |'))
  .split('\n\n')[0]
  ?.split('\n')
  .map((row) => row.split('|').map((cell) => cell.trim().replaceAll('`', '')))
  .map((cells) => cells.slice(1, -1)) ?? [[]];

const ALGORITHMS = { tokenBucket, fixedWindow, slidingWindow, slidingLog };

/** Milliseconds as seconds, as the table has them: `3.333`. */
const seconds = (ms: number): string => String(Number((ms / 1000).toFixed(3)));

it('has a column for every algorithm, and enough rows', () => {
  expect(head.slice(1)).toEqual(Object.keys(ALGORITHMS));
  expect(rows.length).toBeGreaterThan(5);
});

it.each(Object.entries(ALGORITHMS))('%s answers as the table says', (name, algorithm) => {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  const limiter = createLimiter({ name: 'a', limit: 3, window: '10s', algorithm }, { store });
  const column = head.indexOf(name);
  let now = 0;
  const answers = rows.map(([at = '']) => {
    const until = Number(at.replace(' s', ''));
    clock.advance((until - now) * 1000);
    now = until;
    return limiter.consume('ada');
  });
  const told = answers.map(({ allowed, remaining, retryAfterMs }) =>
    allowed ? `yes, ${remaining} left` : `no, wait ${seconds(retryAfterMs)} s`,
  );
  expect(rows.map((cells) => cells[column])).toEqual(told);
});
