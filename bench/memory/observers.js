/** The cost that `topCallers` adds to a decision in memory, as a share of the decision. */

import { startChild } from '../harness/child.js';
import { median, ratio, spread } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { judged } from '../harness/targets.js';

/** Numbers of callers. At most 400 are counted exactly: 300 fit into the tables, and 10,000 do not. */
const KEYS = [1, 300, 10_000];

const ROWS = [
  ['consume', '`createLimiter().consume`'],
  ['admit', '`admit`, a request that passes'],
  ['rejection', 'a rejection'],
];

const PROCESSES = 7;
const WARM_LAPS = 20;
const LAPS = 100;

/**
 * Pairs a contender with the same one under an observer. The contender without an observer runs twice, and the ratio of
 * the two shows what is noise. Each observer has its processes, because calls of two different ones cost V8 more.
 */
async function measure(base, observed, keys) {
  const runs = [];
  for (let i = 0; i < PROCESSES; i += 1) {
    const args = [`${keys}`, base, base, observed];
    const child = startChild(import.meta.url, './paired-worker.js', { args });
    const [first, second, own] = await child.call('run', WARM_LAPS, LAPS);
    child.end();
    const none = first.map((time, lap) => (time + second[lap]) / 2);
    runs.push([median(none), ratio(second, none), ratio(own, none)]);
  }
  return [0, 1, 2].map((column) => runs.map((run) => run[column]));
}

export async function observerCpu(say) {
  const rows = [];
  for (const keys of KEYS) {
    say(`observers, ${keys} keys`);
    for (const [base, title] of ROWS) {
      const [, , noop] = await measure(base, `${base}Observed`, keys);
      const [none, again, who] = await measure(base, `${base}Who`, keys);
      const target = [`CPU of ${title} with topCallers, ${keys} keys, ÷ without`, '<=', 1.05];
      rows.push([
        `${title}, ${keys} ${keys === 1 ? 'key' : 'keys'}`,
        spread(none),
        spread(again),
        spread(noop),
        judged(median(who), target),
      ]);
    }
  }
  return table(
    [
      'CPU time of a decision',
      'no observer: ns',
      'the same again, ÷ none',
      'one that does nothing, ÷ none',
      '`topCallers`, ÷ none',
    ],
    rows,
  );
}
