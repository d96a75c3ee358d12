/** State that all users of a remote store share, such as its breaker and denial cache: one record per store. */

import { type Clock, systemClock } from '../base/clock.js';
import { getOrMake } from '../base/get-or-make.js';
import { Turns } from '../base/host.js';
import type { Store } from '../contract/store.js';
import type { BreakerSettings } from '../contract/store-link.js';
import { CircuitBreaker } from './circuit-breaker.js';
import { DenialCache } from './denial-cache.js';
import { FallbackCounters } from './fallback.js';

export interface RemoteState {
  readonly counters: FallbackCounters;
  readonly denials: DenialCache | undefined;
  readonly turns: Turns;
  /** Returns the breaker that all users share. Only the settings of the first call are used. */
  breaker(settings: BreakerSettings): CircuitBreaker;
}

/** Kept outside the store object, which may be frozen, be a proxy, or have private fields. */
const states = new WeakMap<Store, RemoteState>();

/** Returns the shared state of a store. Only the `clock` of the first call is used. */
export function remoteState(store: Store, clock?: Clock): RemoteState {
  return getOrMake(states, store, () => {
    let shared: CircuitBreaker | undefined;
    return {
      counters: new FallbackCounters(clock ?? systemClock),
      denials: store.sync
        ? undefined
        : new DenialCache(clock ?? store.testClock, store.denialsLastUs),
      turns: new Turns(),
      breaker(settings) {
        shared ??= new CircuitBreaker(store, settings, clock);
        return shared;
      },
    };
  });
}
