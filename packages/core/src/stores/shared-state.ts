/**
 * What all users of one store share: one record for each store object, so that what one user learns the others know.
 */

import { type Clock, systemClock } from '../base/clock.js';
import { Turns } from '../base/turns.js';
import type { Store } from '../contract/store.js';
import { Breaker, type BreakerSettings } from './breaker.js';
import { Names } from './names.js';
import { Refusals } from './refusals.js';
import { StandIn } from './stand-in.js';

/** Bytes that the lost releases of all users of a store may take: a million permits could end while it is away. */
const RELEASE_BYTES = 16 * 1024 * 1024;

/** What is left of {@link RELEASE_BYTES}. */
export interface Room {
  bytes: number;
}

export class SharedState {
  readonly clock: Clock;
  readonly names: Names;
  /** For what is answered without asking the store. */
  readonly turns: Turns = new Turns();
  /** Counts for the store when it does not answer. */
  readonly standIn: StandIn;
  /** None where the store answers at once: it is asked every time. */
  readonly refusals: Refusals | undefined;
  /** For releases that did not reach the store. */
  readonly releaseRoom: Room = { bytes: RELEASE_BYTES };
  private readonly store: Store;
  private breakerMade: Breaker | undefined;

  constructor(store: Store, clock: Clock | undefined) {
    this.store = store;
    this.clock = clock ?? systemClock;
    this.names = new Names(store);
    this.standIn = new StandIn(this.clock);
    this.refusals = store.sync
      ? undefined
      : new Refusals(clock ?? store.testClock, store.refusalsLastUs);
  }

  /** The one breaker of the store; the first user to ask for it chooses its settings. */
  breaker(settings: BreakerSettings): Breaker {
    this.breakerMade ??= new Breaker(this.store, settings, this.clock);
    return this.breakerMade;
  }
}

/** Beside the store, not in it: a store may be frozen, a proxy, or an object of a class with private fields. */
const states = new WeakMap<Store, SharedState>();

/** The record of `store`; made for its first user, whose `clock` then holds for all. */
export function sharedState(store: Store, clock?: Clock): SharedState {
  const known = states.get(store);
  if (known) return known;
  const state = new SharedState(store, clock);
  states.set(store, state);
  return state;
}
