/** Table B: memory and garbage collection of a million keys. */

import { startChild } from '../harness/child.js';
import { digits } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { judged } from '../harness/targets.js';
import { contenders } from './contenders.js';

const KEYS = 1_000_000;
const TARGET_OF = 'bucket';

async function measure(name) {
  const execArgv = ['--expose-gc'];
  const child = startChild(import.meta.url, './heap-worker.js', { execArgv });
  const result = await child.call('fill', name, KEYS);
  child.end();
  return result;
}

export async function memoryHeap(say) {
  const rows = [];
  for (const [name, { title }] of Object.entries(contenders)) {
    if (name === 'loop' || name === 'result') continue;
    say(`memory of a million keys, ${name}`);
    const { heap, outside, rss, pauseMs, timers } = await measure(name);
    const targeted = name === TARGET_OF;
    rows.push([
      title,
      digits(heap),
      digits(outside),
      judged(
        heap + outside,
        targeted ? ['bytes per key in memory, 1 000 000 keys', '<=', 45] : undefined,
      ),
      digits(rss),
      judged(pauseMs, targeted ? ['full garbage collection with them, ms', '<=', 10] : undefined),
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
