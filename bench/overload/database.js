/** A slow database at twice its capacity: a pool of 10 connections, 50 ms per query, and almost no CPU time. */

import { table } from '../harness/table.js';
import { judged } from '../harness/targets.js';
import { capacityOf, overload } from './run.js';

const PROTECTIONS = {
  none: 'no shedder',
  workers: '`workerShedder`',
  fleet: '`fleetShedder`, capacity 40',
  both: '`fleetShedder` and `workerShedder`, as the docs have them',
};

export async function databaseTable(say) {
  const rows = [];
  // Slightly below 200 a second, the limit of 10 connections and 50 ms, because timers are late.
  const { perSecond: capacity } = await capacityOf({ slow: 'database' });
  for (const [protection, name] of Object.entries(PROTECTIONS)) {
    say(`overload, slow database, ${name}`);
    const result = await overload([protection, 'database'], 2 * capacity, 'give up');
    const served = (100 * result.perSecond) / capacity;
    const isRecipe = protection === 'both';
    const target = (what, bound) =>
      isRecipe ? [`a slow database at twice: ${what}`, '>=', bound] : undefined;
    rows.push([
      name,
      judged(served, target('served, %', 95)),
      judged(result.critical, target('critical, %', 99)),
    ]);
  }
  const head = ['A slow database; clients give up after 1 s', 'served in time, %', 'critical, %'];
  return table(head, rows);
}
