/** One run of the overloaded server: a server and clients of their own, so that no run inherits a queue. */

import { startChild } from '../harness/child.js';
import { burners } from './neighbours.js';

/** Overloads come to servers that have been running: their code is compiled, and they have connections. */
const TIMES = { calmMs: 1_500, warmMs: 4_000, ms: 9_000 };
const SERVER_CORE = 0;
const LOAD_CORE = 1;

/** Calls `use(load, port)`; `besides` is how many busy neighbours each core has. */
async function withServer(args, besides, use) {
  const server = startChild(import.meta.url, './server.js', { args, core: SERVER_CORE });
  const load = startChild(import.meta.url, './load.js', { core: LOAD_CORE });
  const others = [SERVER_CORE, LOAD_CORE].map((core) => burners(besides, core));
  try {
    return await use(load, await server.call('port'));
  } finally {
    for (const one of [server, load, ...others]) one.end();
  }
}

/** Requests a second that a closed loop of clients gets served. */
export function capacityOf({ besides = 0, slow } = {}) {
  return withServer(slow ? ['none', slow] : ['none'], besides, async (load, port) => {
    await load.call('capacity', port, 1_000);
    return load.call('capacity', port, 3_000);
  });
}

/** What was served of `rate` requests a second: a second, and in per cent of each class. */
export async function overload(args, rate, clients, besides = 0) {
  const result = await withServer(args, besides, (load, port) =>
    load.call('overload', port, rate, TIMES, clients),
  );
  const all = Object.values(result.counts);
  const sum = (field) => all.reduce((total, one) => total + one[field], 0);
  const part = (count) => (100 * count) / sum('offered');
  const classes = Object.entries(result.counts).map(([name, { served, offered }]) => [
    name,
    (100 * served) / offered,
  ]);
  return {
    perSecond: sum('served') / result.seconds,
    ...Object.fromEntries(classes),
    refused: part(result.refused),
    wasted: part(result.late + result.unanswered),
  };
}
