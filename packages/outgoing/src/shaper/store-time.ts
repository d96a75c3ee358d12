/** Learns from answers how far the clock of a store is from ours, to say when an instant of the store's comes here. */

import type { Step, Store } from '@spillway/core';
import { domainOf } from '@spillway/core/direct';

/** Answers older than this (up to twice this) are forgotten, because clocks drift and are set. */
const MEMORY_US = 10_000_000;

/**
 * The offset is the largest of (the store's time at the decision) - (our time when the answer was read). It is less
 * than the true offset, by the time that the fastest answer took. So an instant of the store's never comes too early
 * here. Nor is the true offset more than (the store's time) - (our time when it was asked): where that is less than
 * what was known, the clock of the store was set back.
 */
export class StoreTime {
  private latest = -Infinity;
  private before = -Infinity;
  private sinceUs = -Infinity;
  /** Whether answers take no time, so that each tells the offset. */
  private readonly isExact: boolean;

  constructor(isExact: boolean) {
    this.isExact = isExact;
  }

  learn(storeUs: number, askedUs: number, receivedUs: number): void {
    const offset = storeUs - receivedUs;
    const isSetBack = storeUs - askedUs < this.offsetUs;
    if (this.isExact || isSetBack || receivedUs - this.sinceUs > 2 * MEMORY_US) {
      this.before = -Infinity;
      this.latest = offset;
      this.sinceUs = receivedUs;
    } else if (receivedUs - this.sinceUs > MEMORY_US) {
      this.before = this.latest;
      this.latest = offset;
      this.sinceUs = receivedUs;
    } else {
      this.latest = Math.max(this.latest, offset);
    }
  }

  /** How far the store's clock is ahead of ours, at least. */
  get offsetUs(): number {
    return Math.max(this.latest, this.before);
  }
}

/** More parts than any store has. Beyond that all are forgotten, so that old addresses do not pile up. */
const MOST_PARTS = 1_000;

/** The clocks of the parts of a store: each has its own. */
export class StoreTimes {
  private readonly parts = new Map<string, StoreTime>();
  private readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  of(step: Step): StoreTime {
    const { store, parts } = this;
    const part = domainOf(store, step);
    let time = parts.get(part);
    if (!time) {
      if (parts.size >= MOST_PARTS) parts.clear();
      time = new StoreTime(store.sync);
      parts.set(part, time);
    }
    return time;
  }
}
