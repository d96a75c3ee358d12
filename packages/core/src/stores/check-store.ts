/** Checks the option `store`. Otherwise a Redis client passed by mistake would be noticed only when calls fail. */

import { checkFlag, checkHas } from '../base/check-shapes.js';
import type { Clock } from '../base/clock.js';
import { SpillwayError, show } from '../base/errors.js';
import type { Logger } from '../base/host.js';
import type { Store } from '../contract/store.js';
import type { LinkedStore } from '../contract/store-link.js';
import { checkObservers, type Observed } from '../observe/check-observers.js';
import { checkValidate } from '../observe/notices.js';

/** @throws SpillwayError `SPW_STORE_INVALID` unless it has passed through `remoteStore` or is a memory store */
export function checkStore(store: Store): LinkedStore {
  checkStoreShape(store);
  if (typeof (store as Partial<LinkedStore>).link === 'function') return store as LinkedStore;
  throw new SpillwayError(
    'SPW_STORE_INVALID',
    "store must have passed through remoteStore of '@spillway/core/store': write remoteStore(store)",
  );
}

export function checkStoreShape(store: Store): void {
  const given: unknown = store;
  if (typeof given === 'object' && given !== null) {
    const client = clientOf(given as Shape);
    if (client === undefined && typeof (given as Shape)['apply'] === 'function') return;
    throw noStore(client ?? 'an object without `apply`');
  }
  // Strings are not shown: a URL may contain a password.
  throw noStore(typeof given === 'string' ? 'a string' : show(given));
}

/**
 * Checks the options that guards, keyed limiters and shapers share. Call it once `checkOptions` has checked the object,
 * before any option is read.
 *
 * @throws SpillwayError `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 */
export function checkClientOptions(options: ClientOptions): void {
  if (options.store !== undefined) checkClocks(checkStore(options.store), options.clock);
  checkFlag('denialCache', options.denialCache);
  if (options.logger !== false) checkHas('logger', 'warn', options.logger);
  checkValidate(options.validate);
  checkObservers(options);
  for (const method of ['settingsOf', 'overrideOf']) checkHas('control', method, options.control);
}

/** Throws if `clock` is not the clock of the memory store, because advancing it in a test would have no effect. */
function checkClocks(store: Store & { readonly clock?: Partial<Clock> }, clock: unknown): void {
  const { sync, clock: own } = store;
  const counts = sync === true && typeof own?.nowUs === 'function';
  if (clock === undefined || !counts || own === clock) return;
  throw new SpillwayError(
    'SPW_OPTION_INVALID',
    'clock must be the clock of the memory store: write memoryStore({ clock }) with the same clock',
  );
}

interface ClientOptions extends Observed {
  readonly store?: Store | undefined;
  readonly clock?: unknown;
  readonly denialCache?: boolean | undefined;
  readonly logger?: Logger | false | undefined;
  readonly validate?: unknown;
  readonly control?: unknown;
}

type Shape = { readonly [name: string]: unknown };

function clientOf(object: Shape): string | undefined {
  if (typeof object['then'] === 'function') return 'a promise: await it first';
  if (typeof object['idFromName'] === 'function') {
    return 'a namespace of Durable Objects: write durableObjectStore(env.BINDING)';
  }
  if (typeof object['evalsha'] === 'function') {
    if (typeof object['state'] === 'string')
      return 'what redisStore() takes: write redisStore(client)';
    if (typeof object['status'] === 'string') return 'an ioredis client';
    if (typeof object['pipeline'] === 'function') {
      return 'an Upstash client: write redisStore(fromUpstash(client))';
    }
  }
  return typeof object['withTypeMapping'] === 'function' || typeof object['evalSha'] === 'function'
    ? 'a node-redis client'
    : undefined;
}

function noStore(got: string): SpillwayError {
  return new SpillwayError(
    'SPW_STORE_INVALID',
    `store must be memoryStore() or redisStore(client), got ${got}`,
  );
}
