/** The tables of algorithms: when to choose each, and what each answers to the same requests. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as core from '@spillway/core';
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

const ALGORITHMS = Object.entries(core).flatMap(([name, value]) =>
  'makeRule' in value ? [[name, value] as const] : [],
);

/** Milliseconds as seconds, as the table has them: `3.333`. */
const seconds = (ms: number): string => String(Number((ms / 1000).toFixed(3)));

it('has a column for every algorithm, and enough rows', () => {
  expect(head.slice(1).sort()).toEqual(ALGORITHMS.map(([name]) => name).sort());
  expect(rows.length).toBeGreaterThan(5);
});

it.each(ALGORITHMS)('the guide says when to choose %s', (name) => {
  const guide = readFileSync(join(ROOT, 'docs', 'guide.md'), 'utf8');
  expect(guide).toContain(`\n| \`${name}\` `);
});

it.each(ALGORITHMS)('docs/algorithms.md has a section about %s', (name) => {
  expect(page).toMatch(new RegExp(`^## .*\`${name}\``, 'm'));
});

it.each(ALGORITHMS)('%s answers as the table says', (name, algorithm) => {
  const clock = new ManualClock();
  const store = core.memoryStore({ clock });
  const limiter = core.createLimiter({ name: 'a', limit: 3, window: '10s', algorithm }, { store });
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
