/** Table F: a real server under twice the load that it can carry, with and without the worker shedder. */

import { startChild } from '../harness/child.js';
import { digits, median } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { idleTable } from './idle.js';

const LOOPS = {
  none: 'no shedder',
  ladder: 'the ladder alone (Stripe’s)',
  brake: 'the brake alone',
  both: 'both loops (the default)',
};
const ROUNDS = 3;
const RUN_MS = 12_000;
const WARM_MS = 4_000;
const SERVER_CORE = 0;
const LOAD_CORE = 1;

/** A server and clients of their own for each run: no run inherits a queue. */
async function run(loops, capacity, cancels) {
  const server = startChild(import.meta.url, './server.js', { args: [loops], core: SERVER_CORE });
  const load = startChild(import.meta.url, './load.js', { core: LOAD_CORE });
  const port = await server.call('port');
  const result = await load.call('overload', port, 2 * capacity, RUN_MS, WARM_MS, cancels);
  server.end();
  load.end();
  const all = Object.values(result.counts);
  const served = all.reduce((sum, one) => sum + one.served, 0);
  const offered = all.reduce((sum, one) => sum + one.offered, 0);
  const share = ({ served, offered }) => (100 * served) / offered;
  return {
    goodput: (100 * served) / result.seconds / capacity,
    critical: share(result.counts.critical),
    post: share(result.counts.post),
    get: share(result.counts.get),
    test: share(result.counts.test),
    refused: (100 * result.refused) / offered,
    wasted: (100 * (result.late + result.unanswered)) / offered,
  };
}

async function capacityOf() {
  const server = startChild(import.meta.url, './server.js', { args: ['none'], core: SERVER_CORE });
  const load = startChild(import.meta.url, './load.js', { core: LOAD_CORE });
  const port = await server.call('port');
  await load.call('capacity', port, 2_000);
  const capacity = await load.call('capacity', port, 5_000);
  server.end();
  load.end();
  return capacity;
}

export async function overloadTables(say) {
  const capacity = await capacityOf();
  const parts = [
    `Capacity, in a closed loop of 40 clients: ${digits(capacity)} requests/s. Offered: twice that.`,
  ];
  for (const cancels of [true, false]) {
    const rows = [];
    for (const [loops, title] of Object.entries(LOOPS)) {
      say(`overload, ${title}, clients ${cancels ? 'cancel' : 'wait'}`);
      const runs = [];
      for (let round = 0; round < ROUNDS; round += 1)
        runs.push(await run(loops, capacity, cancels));
      rows.push([
        title,
        ...Object.keys(runs[0]).map((field) => rangeOf(runs.map((one) => one[field]))),
      ]);
    }
    const title = cancels
      ? 'Clients give up after 1 s'
      : 'Clients wait, as proxies do; 1 s is too late';
    const head = ['served in time, % of capacity', 'critical, %', 'POST, %', 'GET, %', 'test, %'];
    parts.push(table([title, ...head, 'refused, %', 'late or unanswered, %'], rows));
  }
  parts.push(await idleTable(say));
  return parts.join('\n\n');
}

/** The median, and the least and most of a few runs. */
function rangeOf(values) {
  const whole = (value) => `${Math.round(value)}`;
  return `${whole(median(values))} (${whole(Math.min(...values))} to ${whole(Math.max(...values))})`;
}
