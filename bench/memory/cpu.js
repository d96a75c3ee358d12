/** CPU time of a decision in memory, as a multiple of the minimum that any limiter needs. */

import { startChild } from '../harness/child.js';
import { inRounds } from '../harness/rounds.js';
import { ratio, spread } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { judged } from '../harness/targets.js';
import { contenders } from './contenders.js';

/**
 * `laps`: how often every contender gets a new process. `rounds`: the number of turns in each process. `targets` are
 * for the ratio to a raw `Map`, and `beside` for the ratio to express-rate-limit.
 */
const COLUMNS = [
  {
    keys: 1,
    head: '1 key',
    laps: 5,
    rounds: 1,
    targets: {
      bucket: ['CPU of `apply` in memory, 1 key, ÷ raw Map', '<=', 1.6],
      consume: ['CPU of `createLimiter().consume` in memory, 1 key, ÷ raw Map', '<=', 1.9],
      admit: ['CPU of `createGuard().admit` in memory, 1 key, ÷ raw Map', '<=', 6],
      rejection: ['the same, a rejection with its body', '<=', 10],
    },
  },
  {
    keys: 10_000,
    head: '10 000 keys',
    laps: 5,
    rounds: 1,
    targets: {
      bucket: ['the same, 10 000 keys', '<=', 1.3],
      consume: ['`consume`, 10 000 keys', '<=', 1.5],
      admit: ['`admit`, 10 000 keys', '<=', 4],
    },
    beside: {
      fixed: ['CPU of a fixed window in memory, 10 000 keys, ÷ express-rate-limit', '<=', 1],
      counter: ['the same, sliding window counter', '<=', 1],
      log: ['the same, sliding window log that only grows', '<=', 1],
      passing: ['the same, sliding window log whose entries end as they come', '<=', 1],
    },
  },
  {
    keys: 1_000_000,
    head: '1 000 000 keys',
    laps: 2,
    rounds: 3,
    targets: {
      bucket: ['the same, 1 000 000 keys', '<=', 0.8],
      consume: ['`consume`, 1 000 000 keys', '<=', 0.8],
      admit: ['`admit`, 1 000 000 keys', '<=', 1],
    },
  },
];

/** CPU time of a decision, in ns, of each contender in `names`. */
export async function measure(names, { keys, laps, rounds }) {
  const times = Object.fromEntries(names.map((name) => [name, []]));
  for (let lap = 0; lap < laps; lap += 1) {
    const children = names.map((name) => {
      return startChild(import.meta.url, './cpu-worker.js', { args: [name, `${keys}`] });
    });
    // Two contenders warm up at a time. While one is measured, the others are idle.
    for (let i = 0; i < names.length; i += 2) {
      await Promise.all(children.slice(i, i + 2).map((child) => child.call('warm')));
    }
    const results = await inRounds(rounds, names, (name) => {
      return children[names.indexOf(name)].call('turn');
    });
    for (const [name, turns] of results) times[name].push(...turns);
    for (const child of children) child.end();
  }
  return times;
}

export async function memoryCpu(say) {
  const columns = [];
  for (const column of COLUMNS) {
    say(`in memory, ${column.head}`);
    columns.push({ ...column, times: await measure(Object.keys(contenders), column) });
  }
  const head = columns.flatMap(({ head, beside }) => [
    `${head}: ns`,
    '÷ raw Map',
    ...(beside ? ['÷ express-rate-limit'] : []),
  ]);
  const rows = Object.entries(contenders).map(([name, { title }]) => [
    title,
    ...columns.flatMap(({ times, targets, beside }) => {
      const share = ratio(times[name], times.floor);
      const cells = [spread(times[name]), judged(share, targets[name])];
      if (!beside) return cells;
      return [...cells, judged(ratio(times[name], times.expressRateLimit), beside[name])];
    }),
  ]);
  return table(['CPU time of a decision', ...head], rows);
}
