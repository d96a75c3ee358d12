/** A service with almost nothing to do, while other processes use its core. */

import { startChild } from '../harness/child.js';
import { digits } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { burners, limitCpu, pauses } from './neighbours.js';

const RATE = 10;
const RUN_MS = 6_000;
const SERVER_CORE = 0;
const LOAD_CORE = 1;

const nothing = { end() {} };

const SITUATIONS = {
  'alone on its core': () => nothing,
  'one busy neighbour on its core': () => burners(1, SERVER_CORE),
  'two busy neighbours on its core': () => burners(2, SERVER_CORE),
  'a CPU limit of 0.2, shared with a busy neighbour': (pid) => sharedLimit(pid, 0.2),
  'stopped for 40 ms of each 60 ms': (pid) => pauses(pid, 60, 20),
};

/** A container with two processes, one of which uses up the CPU limit. */
function sharedLimit(pid, part) {
  const neighbour = burners(1, SERVER_CORE);
  const group = limitCpu([pid, ...neighbour.pids], part);
  const end = () => {
    neighbour.end();
    group?.end();
  };
  return group ? { end } : void end();
}

async function run(situate) {
  const server = startChild(import.meta.url, './server.js', {
    args: ['workers'],
    core: SERVER_CORE,
  });
  const load = startChild(import.meta.url, './load.js', { core: LOAD_CORE });
  const port = await server.call('port');
  const others = situate(server.pid);
  try {
    return others && (await load.call('steady', port, RATE, RUN_MS));
  } finally {
    others?.end();
    server.end();
    load.end();
  }
}

export async function idleTable(say) {
  const rows = [];
  for (const [title, situate] of Object.entries(SITUATIONS)) {
    say(`idle, ${title}`);
    const result = await run(situate);
    rows.push(
      result
        ? [title, `${result.rejected} of ${result.asked}`, digits(result.p50), digits(result.p99)]
        : [title, 'control groups cannot be written here', '', ''],
    );
  }
  const title = `Idle: ${RATE} requests/s, both loops`;
  return table([title, 'rejected', 'p50, ms', 'p99, ms'], rows);
}
