/** What all users of a remote store share, so that what one learns the others know: one record for each store. */

import { type Clock, systemClock } from '../base/clock.js';
import { Turns } from '../base/turns.js';
import type { Store } from '../contract/store.js';
import type { BreakerSettings } from '../contract/store-link.js';
import { CircuitBreaker } from './circuit-breaker.js';
import { DenialCache } from './denial-cache.js';
import { FallbackCounters } from './fallback-counters.js';

export class RemoteState {
  /** Counts for the store when it does not answer. */
  readonly counters: FallbackCounters;
  /** None where the store answers at once: it is asked every time. */
  readonly denials: DenialCache | undefined;
  /** For what is answered without asking the store. */
  readonly turns: Turns = new Turns();
  private readonly store: Store;
  private readonly clock: Clock;
  private circuitBreaker: CircuitBreaker | undefined;

  constructor(store: Store, clock: Clock | undefined) {
    this.store = store;
    this.clock = clock ?? systemClock;
    this.counters = new FallbackCounters(this.clock);
    this.denials = store.sync
      ? undefined
      : new DenialCache(clock ?? store.testClock, store.denialsLastUs);
  }

  /** The one breaker of the store; the first user to ask for it chooses its settings. */
  breaker(settings: BreakerSettings): CircuitBreaker {
    this.circuitBreaker ??= new CircuitBreaker(this.store, settings, this.clock);
    return this.circuitBreaker;
  }
}

/** Beside the store, not in it: a store may be frozen, a proxy, or an object of a class with private fields. */
const states = new WeakMap<Store, RemoteState>();

/** The record of `store`; made for its first user, whose `clock` then holds for all. */
export function remoteState(store: Store, clock?: Clock): RemoteState {
  const known = states.get(store);
  if (known) return known;
  const state = new RemoteState(store, clock);
  states.set(store, state);
  return state;
}
