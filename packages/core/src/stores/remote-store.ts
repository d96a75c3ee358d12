/** Makes of a store of any kind one that guards and limiters take. */

import { mustBe } from '../base/errors.js';
import type { Store } from '../contract/store.js';
import type { Linked, StoreUser } from '../contract/store-link.js';
import { checkStoreShape } from './check-store.js';
import { RemoteLink } from './remote-link.js';

/**
 * Guards limits against a store that can be slow, fail or answer nonsense: a deadline, a breaker, counts in this
 * process for outages, and a cache of rejections. Every store but `memoryStore()` passes through it, once, where it is
 * made; `redisStore`, `durableObjectStore` and `stateStore` do so themselves.
 *
 * @returns the same object, which has one member more
 * @throws SpillwayError `SPW_STORE_INVALID` for what is no store; `SPW_OPTION_INVALID` for an object that cannot be
 * extended: freeze it afterwards
 * @example
 * ```ts
 * import { createLimiter, type Store } from '@spillway/core';
 * import { remoteStore } from '@spillway/core/store';
 *
 * declare class MyStore implements Store {
 *   readonly sync: false;
 *   apply: Store['apply'];
 * }
 * const store = remoteStore(new MyStore());
 * export const logins = createLimiter({ name: 'logins', limit: 5, window: '15m' }, { store });
 * ```
 */
export function remoteStore<S extends Store>(store: S): S & Linked {
  checkStoreShape(store);
  if (!Object.isExtensible(store)) {
    throw mustBe('store', 'extensible: freeze it after remoteStore(store)', store);
  }
  // Enumerable, so that a copy of the store has a link too: its own.
  return Object.assign(store, { link: linkOf });
}

function linkOf(this: Store, user: StoreUser): RemoteLink {
  return new RemoteLink(this, user);
}
