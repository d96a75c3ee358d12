/** Ten runs at twice the capacity with other work on both cores, each beside its own capacity. */

import { digits } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { judged } from '../harness/targets.js';
import { capacityOf, overload } from './run.js';

const RUNS = 10;
const NEIGHBOURS = 1;
const KINDS = ['give up', 'wait'];

export async function neighboursTable(say) {
  const rows = [];
  let kept = 0;
  let before = await capacityOf({ besides: NEIGHBOURS });
  for (let run = 0; run < RUNS; run += 1) {
    const clients = KINDS[run % KINDS.length];
    say(`overload beside neighbours, ${run + 1} of ${RUNS}`);
    const { perSecond, critical } = await overload(['workers'], 2 * before, clients, NEIGHBOURS);
    const after = await capacityOf({ besides: NEIGHBOURS });
    const capacity = (before + after) / 2;
    const served = (100 * perSecond) / capacity;
    if (served >= 90 && critical >= 99) kept += 1;
    rows.push([clients, digits(before), digits(after), digits(served), digits(critical)]);
    before = after;
  }
  const target = ['twice the capacity beside neighbours: runs of ten with 90 and 99 %', '>=', 9];
  const head = ['capacity before', 'and after', 'served in time, % of their mean', 'critical, %'];
  const title = 'A busy neighbour on each core, both loops; clients';
  return `${table([title, ...head], rows)}\n\n${judged(kept, target)} of ${RUNS} runs reach 90 % and 99 %.`;
}
