/**
 * CPU time of rejecting a key that was rejected before. It must not grow with the number of keys, except by CPU cache
 * misses, which a raw `Map` has too.
 */

import { startChild } from '../harness/child.js';
import { inRounds } from '../harness/rounds.js';
import { median, ratio, spread } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { judged } from '../harness/targets.js';
import { contenders } from './contenders.js';

const COUNTS = [1, 1_000, 40_000];
const ROUNDS = 7;

/** Measures one contender with all numbers of keys in turn, so load on the machine affects all equally. */
async function measure(name) {
  const children = COUNTS.map((count) =>
    startChild(import.meta.url, './worker.js', { args: [name, `${count}`] }),
  );
  for (const child of children) await child.call('warm');
  const results = await inRounds(ROUNDS, [0, 1, 2], (at) => children[at].call('turn'));
  for (const child of children) child.end();
  return [0, 1, 2].map((at) => results.get(at));
}

export async function rejectionTables(say) {
  const rows = [];
  for (const [name, { title }] of Object.entries(contenders)) {
    say(`rejected again: ${name}`);
    const times = await measure(name);
    const [one, , most] = times;
    const ours = name === 'spillway';
    const target = ours && ['the same, 40 000 keys ÷ 1 key', '<=', 2];
    rows.push([title, ...times.map((turns) => spread(turns)), judged(ratio(most, one), target)]);
    if (ours) judged(median(most), ['CPU of a cached rejection, 40 000 keys, µs', '<=', 0.5]);
  }
  return table(
    ['CPU time of a rejection, µs', '1 key', '1 000 keys', '40 000 keys', '40 000 ÷ 1'],
    rows,
  );
}
