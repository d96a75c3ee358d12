import type { Clock } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { type AnyRedisClient, asRedisClient } from './clients/as-redis-client.js';
import { testScript } from './codec/script.js';
import { Redis, type RedisStore, type RedisStoreOptions } from './redis-store.js';

/**
 * Like {@link redisStore}, but decides by `clock` instead of Redis's clock. Keys expire after ten real minutes,
 * whatever `clock` says. Not for production, because the caller sets the time.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts
 * import { createLimiter } from '@spillway/core';
 * import { ManualClock } from '@spillway/core/testing';
 * import { redisStoreAt } from '@spillway/redis/testing';
 *
 * const clock = new ManualClock();
 * const store = redisStoreAt(redis, clock);
 * const limiter = createLimiter({ name: 'login', limit: 1, window: '1m' }, { store });
 * await limiter.consume('ada');
 * clock.advance('1m');
 * (await limiter.consume('ada')).allowed; // true
 * ```
 */
export function redisStoreAt(
  client: AnyRedisClient,
  clock: Clock,
  options: RedisStoreOptions = {},
): RedisStore {
  return remoteStore(new Redis(asRedisClient(client), testScript(), options, clock));
}
