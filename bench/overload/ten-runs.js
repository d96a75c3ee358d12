/** Ten runs at twice the capacity with other work on both cores. The capacity is measured before and after each run. */

import { digits } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { judged } from '../harness/targets.js';
import { againstCapacity, capacityOf, overload } from './run.js';

const RUNS = 10;
const NEIGHBOURS = 1;
const KINDS = ['give up', 'wait'];
const PLACES = { workers: 'in Express', front: 'before Express' };
/**
 * The load as a multiple of the capacity, at least and at most. A run outside of these bounds is repeated, because
 * other processes used more or less of the core than before.
 */
const TIMES = { least: 1.8, most: 2.2 };
const MOST_AGAIN = 5;

export async function neighboursTable(say) {
  const rows = [];
  const runs = { workers: 0, front: 0 };
  const kept = { workers: 0, front: 0 };
  let again = 0;
  let before = await capacityOf({ besides: NEIGHBOURS });
  while (rows.length < 2 * RUNS) {
    // The kinds of runs alternate, because the CPU time that the machine provides changes from minute to minute.
    const place = runs.workers > runs.front ? 'front' : 'workers';
    const clients = KINDS[runs[place] % KINDS.length];
    say(`overload beside neighbours, ${rows.length + 1} of ${2 * RUNS}`);
    const result = await overload([place], 2 * before.perSecond, clients, NEIGHBOURS);
    const after = await capacityOf({ besides: NEIGHBOURS });
    const { served, times, idle, share } = againstCapacity(result, [before, after]);
    before = after;
    if (again < MOST_AGAIN && (times < TIMES.least || times > TIMES.most)) {
      again += 1;
      continue;
    }
    const { critical } = result;
    runs[place] += 1;
    if (served >= 90 && critical >= 99) kept[place] += 1;
    const cells = [share, times, served, idle, critical].map((value) => digits(value));
    rows.push([`${clients}, ${PLACES[place]}`, ...cells]);
  }
  const head = ['of its core, %', 'offered, times what it could', 'served in time, %', 'idle, %'];
  const title = 'A busy neighbour on each core, both loops; clients';
  const tables = table([title, ...head, 'critical, %'], rows);
  const verdicts = Object.entries(PLACES).map(([place, where]) => {
    const name = `twice the capacity beside neighbours, ${where}: runs of ten with 90 and 99 %`;
    return `${judged(kept[place], [name, '>=', 9])} of ${RUNS} runs ${where} reach 90 % and 99 %.`;
  });
  verdicts.push(`${again} more were not at twice, and made again.`);
  return `${tables}\n\n${verdicts.join('\n')}`;
}
