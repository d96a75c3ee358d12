/**
 * Runs and prints every section. With --only=redis,http it runs only these. With --write it also writes the results
 * into docs/, where other sections stay as they are.
 */

import { environment } from './harness/environment.js';
import { findRedis } from './harness/redis-server.js';
import { targets } from './harness/targets.js';
import { httpTables } from './http/tables.js';
import { memoryCpu } from './memory/cpu.js';
import { memoryHeap } from './memory/heap.js';
import { observerCpu } from './memory/observers.js';
import { onceTables } from './once/tables.js';
import { overloadTables } from './overload/tables.js';
import { arrivalTables } from './redis/arrivals.js';
import { clusterTables } from './redis/cluster.js';
import { redisTables, settledTables } from './redis/tables.js';
import { rejectionTables } from './rejections/tables.js';
import { render, section, writeReport } from './report.js';
import { fleetTables } from './shaper/fleet.js';
import { shaperTables } from './shaper/tables.js';

const TABLES = {
  time: { title: 'In memory: time', run: memoryCpu },
  observers: { title: 'In memory: who is rejected', run: observerCpu },
  space: { title: 'In memory: space', run: memoryHeap },
  redis: { title: 'In Redis', run: redisTables },
  cluster: { title: 'In Redis, on a Cluster', run: clusterTables },
  arrivals: { title: 'In Redis, over a network', run: arrivalTables },
  rejections: { title: 'Rejected again', run: rejectionTables },
  settlements: { title: 'Settlements', run: settledTables },
  shaper: { title: 'Shapers', run: shaperTables },
  once: { title: 'Idempotency keys', run: onceTables },
  fleet: { title: 'A fleet with one shaper', run: fleetTables },
  http: { title: 'Over HTTP', run: httpTables },
  overload: { title: 'Overloaded', run: overloadTables },
};

const say = (text) => process.stderr.write(`… ${text}\n`);
const option = (name) => process.argv.find((arg) => arg.startsWith(`--${name}`));
const only = option('only=')?.slice('--only='.length).split(',');

const made = environment(findRedis());
const sections = [];
for (const [name, { title, run }] of Object.entries(TABLES)) {
  if (only && !only.includes(name)) continue;
  const start = performance.now();
  const tables = await run(say);
  sections.push(section(title, made, targets(), tables));
  say(`${name}: ${((performance.now() - start) / 1000).toFixed(0)} s`);
}

console.log(render(made, sections));
const titles = Object.values(TABLES).map(({ title }) => title);
if (option('write')) writeReport(made, sections, titles);
