/** A redis-server of the benchmark's own, on a core of its own. */

import { findRedis, startRedis as start } from 'spillway-testkit/redis-process';
import { pin } from './child.js';

export { findRedis };

/** Its port, and how to end it. */
export async function startRedis(program, core, args = []) {
  const { child, port, stop } = await start(program, { args });
  pin(child.pid, core);
  process.once('exit', stop);
  return { port, stop };
}
