/** Turns any client that a user has into the client that the store knows. */

import { SpillwayError } from '@spillway/core';
import type { RedisClient } from './client.js';
import { Ioredis, type IoredisClient } from './ioredis.js';

/**
 * The client as the store knows it.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
export function asRedisClient(client: RedisClient | IoredisClient): RedisClient {
  const given: unknown = client;
  if (typeof given === 'object' && given !== null) {
    if (runs(given, 'state')) return given as RedisClient;
    if (runs(given, 'status')) return new Ioredis(given as IoredisClient);
  }
  throw new SpillwayError(
    'SPW_OPTION_INVALID',
    'client must be one of ioredis, such as new Redis(url), or what fromNodeRedis, fromNodeRedisCluster or fromUpstash ' +
      // Never print the value: a URL contains a password, and printing an Upstash client sends a command.
      `makes of another, got ${given === null ? 'null' : typeof given}`,
  );
}

/** Whether a client runs scripts, and says in `state` whether it is connected. */
function runs(client: object, state: 'state' | 'status'): boolean {
  const { evalsha, [state]: word } = client as Readonly<Record<string, unknown>>;
  return typeof evalsha === 'function' && typeof word === 'string';
}
