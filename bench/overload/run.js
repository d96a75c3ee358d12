/** One run of the overloaded server. Each run has a new server and new clients, so it inherits no queue. */

import { setTimeout as sleep } from 'node:timers/promises';
import { startChild } from '../harness/child.js';
import { burners } from './neighbours.js';

/** In production, a server has been running before it is overloaded: its code is compiled, and it has connections. */
const WARM_MS = 2_000;
const TIMES = { calmMs: 1_500, warmMs: 4_000, ms: 9_000 };
const CAPACITY_MS = 3_000;
const SERVER_CORE = 0;
const LOAD_CORE = 1;

/** Calls `use(load, port, server)`. `besides` is the number of busy neighbours on each core. */
async function withServer(args, clients, besides, use) {
  const server = startChild(import.meta.url, './server.js', { args, core: SERVER_CORE });
  const load = startChild(import.meta.url, './load.js', { core: LOAD_CORE });
  const others = [SERVER_CORE, LOAD_CORE].map((core) => burners(besides, core));
  try {
    const port = await server.call('port');
    await load.call('warm', port, WARM_MS, clients);
    return await use(load, port, server);
  } finally {
    for (const one of [server, load, ...others]) one.end();
  }
}

/**
 * How many requests of such clients the server can serve without shedders, in a closed loop: per second, and per second
 * of CPU time. The second number does not depend on other processes on the core.
 */
export function capacityOf({ clients = 'wait', besides = 0, slow } = {}) {
  return withServer(
    slow ? ['none', slow] : ['none'],
    clients,
    besides,
    async (load, port, server) => {
      const before = await server.call('spent');
      const perSecond = await load.call('capacity', port, CAPACITY_MS, clients);
      const { seconds, processorMs } = since(before, await server.call('spent'));
      return { perSecond, perProcessorSecond: (perSecond * seconds * 1000) / processorMs };
    },
  );
}

/** Sends `rate` requests a second. Returns the number served per second, and the percentage served of each class. */
export async function overload(args, rate, clients, besides = 0) {
  const { result, spent } = await withServer(args, clients, besides, async (load, port, server) => {
    const ended = load.call('overload', port, rate, TIMES, clients);
    await sleep(TIMES.warmMs);
    const before = await server.call('spent');
    await sleep(TIMES.ms - TIMES.warmMs);
    const spent = since(before, await server.call('spent'));
    return { result: await ended, spent };
  });
  const all = Object.values(result.counts);
  const sum = (field) => all.reduce((total, one) => total + one[field], 0);
  const part = (count) => (100 * count) / sum('offered');
  const classes = Object.entries(result.counts).map(([name, { served, offered }]) => [
    name,
    (100 * served) / offered,
  ]);
  return {
    perSecond: sum('served') / result.seconds,
    offered: sum('offered') / result.seconds,
    spent,
    ...Object.fromEntries(classes),
    rejected: part(result.rejected),
    wasted: part(result.late + result.unanswered),
  };
}

/**
 * The served requests, as a percentage of the capacity that the server has with the CPU time available to it. This
 * assumes that it would get the same share of the core while idle as it got while busy. `times` is the offered load as
 * a multiple of that capacity. `idle` is a percentage, too.
 */
export function againstCapacity({ perSecond, offered, spent }, capacities) {
  const { processorMs, active, idle } = spent;
  const perProcessorSecond =
    capacities.reduce((sum, one) => sum + one.perProcessorSecond, 0) / capacities.length;
  const could = (perProcessorSecond * processorMs) / active;
  return {
    served: (100 * perSecond) / could,
    times: offered / could,
    idle: (100 * idle) / (active + idle),
    share: (100 * processorMs) / active,
  };
}

function since(before, after) {
  const [processorMs, active, idle] = ['processorMs', 'active', 'idle'].map(
    (field) => after[field] - before[field],
  );
  return { processorMs, active, idle, seconds: (active + idle) / 1000 };
}
