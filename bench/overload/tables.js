/** A real server under twice its capacity, with and without shedders. */

import { digits, median } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { judged } from '../harness/targets.js';
import { databaseTable } from './database.js';
import { idleTable } from './idle.js';
import { againstCapacity, capacityOf, overload } from './run.js';
import { neighboursTable } from './ten-runs.js';

const LOOPS = {
  none: 'no shedder',
  ladder: 'the ladder alone (Stripe’s)',
  brake: 'the brake alone',
  workers: 'both loops (the default)',
  front: 'the same, before Express',
};
const CLIENTS = {
  'give up': { title: 'Clients give up after 1 s' },
  wait: {
    title: 'Clients wait, as proxies do; 1 s is too late',
    rows: ['none', 'workers', 'front'],
  },
  reconnect: {
    title: 'Each request on a new connection; clients give up after 1 s',
    rows: ['none', 'workers', 'front'],
  },
};
/** With --long, there are several rounds, which give ranges. */
const ROUNDS = process.argv.includes('--long') ? 3 : 1;
const HEAD = ['served in time, % of capacity', 'critical, %', 'POST, %', 'GET, %', 'test, %'];

async function clientsTable(say, clients, { title, rows: chosen = Object.keys(LOOPS) }) {
  const rows = [];
  for (const loops of chosen) {
    const name = LOOPS[loops];
    say(`overload, ${name}, clients ${clients}`);
    const runs = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      // Measured before and after each run, because other load on the machine changes from minute to minute.
      const before = await capacityOf({ clients });
      const result = await overload([loops], 2 * before.perSecond, clients);
      const capacities = [before, await capacityOf({ clients })];
      const { served } = againstCapacity(result, capacities);
      const { perSecond: _, offered, spent, ...rest } = result;
      runs.push({ served, ...rest });
    }
    const cells = Object.keys(runs[0]).map((field) => rangeOf(runs.map((one) => one[field])));
    if (loops === 'workers') {
      const of = (field) => median(runs.map((one) => one[field]));
      const held = `twice the capacity, clients ${clients}`;
      cells[0] = judged(of('served'), [`${held}: served, % of capacity`, '>=', 90]);
      cells[1] = judged(of('critical'), [`${held}: critical, %`, '>=', 99]);
    }
    rows.push([name, ...cells]);
  }
  return table([title, ...HEAD, 'rejected, %', 'late or unanswered, %'], rows);
}

export async function overloadTables(say) {
  const { perSecond: capacity } = await capacityOf();
  const parts = [
    `Capacity, in a closed loop of 40 clients: ${digits(capacity)} requests/s. Offered: twice what it is at the time.`,
  ];
  for (const [clients, one] of Object.entries(CLIENTS)) {
    parts.push(await clientsTable(say, clients, one));
  }
  parts.push(await neighboursTable(say));
  parts.push(await databaseTable(say));
  parts.push(await idleTable(say));
  return parts.join('\n\n');
}

/** The median, the minimum and the maximum of a few runs. */
function rangeOf(values) {
  const whole = (value) => `${Math.round(value)}`;
  if (values.length === 1) return whole(values[0]);
  return `${whole(median(values))} (${whole(Math.min(...values))} to ${whole(Math.max(...values))})`;
}
