/**
 * What all users of one store share: one record for each store object, so that what one user learns the others know.
 */

import { type Clock, systemClock } from '../base/clock.js';
import { Turns } from '../base/turns.js';
import type { Store } from '../contract/store.js';
import type { Room } from '../contract/upkeep.js';
import { Names } from './names.js';

/** Bytes that the lost releases of all users of a store may take: a million permits could end while it is away. */
const RELEASE_BYTES = 16 * 1024 * 1024;

export class SharedState {
  readonly clock: Clock;
  readonly names: Names;
  /** For what is answered without asking the store. */
  readonly turns: Turns = new Turns();
  /** For releases that did not reach the store. */
  readonly releaseRoom: Room = { bytes: RELEASE_BYTES };

  constructor(store: Store, clock: Clock | undefined) {
    this.clock = clock ?? systemClock;
    this.names = new Names(store);
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
