/** Memory and garbage collection of a million keys. */

import { startChild } from '../harness/child.js';
import { digits } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { judged } from '../harness/targets.js';
import { contenders } from './contenders.js';

/** Contenders that store nothing, or that need as much memory as another row. */
const SAME_SPACE = new Set(['loop', 'result', 'passing']);

const KEYS = 1_000_000;

/** The targets in bytes per key, by contender. A log with ten entries per key has a separate name. */
const MOST_BYTES = {
  bucket: ['bytes per key in memory, 1 000 000 keys', 45],
  fixed: ['the same, fixed windows', 48],
  counter: ['the same, sliding window counters', 48],
  log: ['the same, logs of one entry', 48],
  logOfTen: ['the same, logs of ten entries', 120],
};

async function measure(name, times) {
  const execArgv = ['--expose-gc'];
  const child = startChild(import.meta.url, './heap-worker.js', { execArgv });
  const result = await child.call('fill', name, KEYS, times);
  child.end();
  return result;
}

/** The rows: each contender with one decision per key, and the log also with ten. */
function fillings() {
  const names = Object.keys(contenders).filter((name) => !SAME_SPACE.has(name));
  return names.flatMap((name) => {
    const { title } = contenders[name];
    const once = { name, title, times: 1, target: MOST_BYTES[name] };
    if (name !== 'log') return [once];
    return [once, { name, title: `${title}, 10 a key`, times: 10, target: MOST_BYTES.logOfTen }];
  });
}

export async function memoryHeap(say) {
  const rows = [];
  for (const { name, title, times, target } of fillings()) {
    say(`memory of a million keys, ${title}`);
    const { heap, outside, rss, pauseMs, timers } = await measure(name, times);
    const [what, most] = target ?? [];
    rows.push([
      title,
      digits(heap),
      digits(outside),
      judged(heap + outside, what && [what, '<=', most]),
      digits(rss),
      judged(pauseMs, what && [`full garbage collection with them, ms`, '<=', 10]),
      timers.toFixed(2),
    ]);
  }
  const head = [
    'heap B/key',
    'outside B/key',
    'together',
    'RSS B/key',
    'full GC, ms',
    'timers/key',
  ];
  return table(['1 000 000 keys of 15 characters', ...head], rows);
}
