/** A private redis-server, on its own core. */

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
