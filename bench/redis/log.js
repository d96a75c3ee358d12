/** The sliding log in Redis by the number of its entries, compared with the usual sorted set. */

import { startChild } from '../harness/child.js';
import { digits, spread } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { judged } from '../harness/targets.js';

const SIZES = [10, 1_000, 100_000];
const ROUNDS = 7;
const KINDS = { log: 'Spillway', zset: 'sorted set' };

const STEPS = {
  rejectOne: 'rejects 1 unit',
  rejectHalf: 'rejects half of the limit',
  rejectAll: 'rejects the whole limit',
  recordAll: 'records the whole limit',
  putNewest: 'gives back the newest entry',
  putMiddle: 'gives back one of the middle',
  lookHalf: 'looks when half has expired',
  grantHalf: 'grants when half has expired',
};
/** The steps that a sorted set supports: it has no costs, records or refunds, and cannot look without removing. */
const COMPARED = ['rejectOne', 'grantHalf'];
const TARGET = ['Redis, sliding log of 100,000 entries: longest step, µs', '<=', 1000];

export async function logTables(port, say) {
  const child = startChild(import.meta.url, './log-worker.js', { args: [`${port}`], core: 0 });
  const columns = [];
  for (const size of SIZES) {
    for (const kind of Object.keys(KINDS)) columns.push(await measure(child, kind, size, say));
  }
  child.end();
  const longest = Math.max(...Object.values(columns.at(-2).steps));
  const row = (title, cell) => [title, ...columns.map(cell)];
  const rows = [
    row('grants, as another entry expires', ({ grants }) => spread(grants)),
    ...Object.entries(STEPS).map(([name, title]) =>
      row(title, ({ steps }) => (name in steps ? digits(steps[name]) : '–')),
    ),
    row('bytes an entry', ({ bytes }) => digits(bytes)),
  ];
  const head = columns.map(({ kind, size }) => `${KINDS[kind]}, ${size.toLocaleString('en')}`);
  return [
    'One sliding log by its live entries: µs inside the script for one step, the median of several:',
    table(['A log that', ...head], rows),
    `The longest of Spillway's steps at 100,000 entries: ${judged(longest, TARGET)} µs.`,
  ].join('\n\n');
}

async function measure(child, kind, size, say) {
  say(`Redis, a ${KINDS[kind]} log of ${size} entries`);
  const bytes = await child.call('fill', kind, size);
  await child.call('steady', 1_000); // to warm up
  const grants = [];
  for (let i = 0; i < ROUNDS; i += 1) grants.push(await child.call('steady', 1_000));
  const steps = {};
  const names = kind === 'log' ? Object.keys(STEPS) : COMPARED;
  for (const name of names) steps[name] = await child.call('each', name, 9);
  return { kind, size, bytes, grants, steps };
}
