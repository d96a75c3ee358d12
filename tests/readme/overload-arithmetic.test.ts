/** docs/benchmark-tables.md, "What the machine allows": its table follows from the runs under "Overloaded". */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from './snippets.js';

const tables = readFileSync(join(ROOT, 'docs', 'benchmark-tables.md'), 'utf8');
const runs = [
  ...tables.matchAll(
    /^\| (?:give up|wait), (in|before) Express \| [\d.]+ \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|/gm,
  ),
].map(([, place, times, served, idle]) => ({
  place,
  times: Number(times),
  served: Number(served) / 100,
  idle: Number(idle) / 100,
}));

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length / 2;
  return ((sorted[Math.ceil(half) - 1] ?? NaN) + (sorted[Math.floor(half)] ?? NaN)) / 2;
}

const percent = (part: number) => (100 * part).toFixed(1);

it.each(['in', 'before'])('%s Express', (place) => {
  const own = runs.filter((run) => run.place === place);
  expect(own).toHaveLength(10);
  // What was served, solved for the price of a rejection.
  const p = median(own.map(({ times, served, idle }) => (1 - idle - served) / (times - served)));
  const idle = median(own.map((run) => run.idle));
  const canServe = (i: number) => percent((1 - i - 2 * p) / (1 - p));
  const row = [p.toFixed(3), percent(idle), canServe(idle), canServe(0)].join(' | ');
  expect(tables).toContain(`| ${place} Express | ${row} |`);
});
