import type { Clock } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import type { ObjectNamespace } from './platform.js';
import { TEST_TIME_HEADER } from './rate-limit-object.js';
import {
  type DurableObjectStore,
  type DurableObjectStoreOptions,
  ObjectStore,
} from './store/durable-object-store.js';

export { RateLimitObjectAt } from './rate-limit-object.js';

/**
 * Like `durableObjectStore`, but decides by `clock`. The namespace must be a binding to {@link RateLimitObjectAt}.
 * Never use it in production: the caller sets the time, and expired rows are never deleted.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts
 * import { durableObjectStoreAt } from '@spillway/cloudflare/testing';
 * import { createLimiter } from '@spillway/core';
 * import { ManualClock } from '@spillway/core/testing';
 *
 * const clock = new ManualClock();
 * const store = durableObjectStoreAt(env.LIMITS, clock);
 * const limiter = createLimiter({ name: 'login', limit: 1, window: '1m' }, { store });
 * await limiter.consume('ada');
 * clock.advance('1m');
 * (await limiter.consume('ada')).allowed; // true
 * ```
 */
export function durableObjectStoreAt(
  namespace: ObjectNamespace,
  clock: Clock,
  options: DurableObjectStoreOptions = {},
): DurableObjectStore {
  const fields = () => ({ [TEST_TIME_HEADER]: `${clock.nowUs()}` });
  return remoteStore(new ObjectStore(namespace, options, { clock, fields }));
}
