/** A private redis-server, bound to a separate core. */

import { findRedis, startRedis as start } from 'spillway-testkit/redis-process';
import { pin } from './child.js';

export { findRedis };

/** Returns the port of the server, and a function to stop it. */
export async function startRedis(program, core, args = []) {
  const { child, port, stop } = await start(program, { args });
  pin(child.pid, core);
  process.once('exit', stop);
  return { port, stop };
}
