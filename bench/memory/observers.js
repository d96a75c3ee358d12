/** The cost that `topCallers` adds to a decision in memory, as a share of the decision. */

import { ratio, spread } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { judged } from '../harness/targets.js';
import { measure } from './cpu.js';

/** Numbers of callers. At most 400 are counted exactly: 300 fit into the tables, and 10,000 do not. */
const KEYS = [1, 300, 10_000];

const ROWS = [
  {
    base: 'consume',
    noop: 'consumeObserved',
    who: 'consumeWho',
    title: '`createLimiter().consume`',
  },
  {
    base: 'admit',
    noop: 'admitObserved',
    who: 'admitWho',
    title: '`admit`, a request that passes',
  },
  { base: 'rejection', noop: 'rejectionObserved', who: 'rejectionWho', title: 'a rejection' },
];

export async function observerCpu(say) {
  const rows = [];
  for (const keys of KEYS) {
    say(`observers, ${keys} keys`);
    const names = ROWS.flatMap(({ base, noop, who }) => [base, noop, who]);
    const times = await measure(names, { keys, laps: 5, rounds: 1 });
    for (const { base, noop, who, title } of ROWS) {
      const target = [`CPU of ${title} with topCallers, ${keys} keys, ÷ without`, '<=', 1.05];
      rows.push([
        `${title}, ${keys} ${keys === 1 ? 'key' : 'keys'}`,
        spread(times[base]),
        spread(times[noop]),
        spread(times[who]),
        judged(ratio(times[who], times[base]), target),
      ]);
    }
  }
  return table(
    [
      'CPU time of a decision, ns',
      'no observer',
      'one that does nothing',
      '`topCallers`',
      '÷ none',
    ],
    rows,
  );
}
