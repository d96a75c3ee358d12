/** Converts instants of the store's clock into instants of this process's clock. */

import type { Step, Store } from '@spillway/core';
import { domainOf, getOrMake } from '@spillway/core/direct';

/** Clocks drift and are adjusted, so an answer is used for only 10 to 20 s, or longer if answers are rare. */
const MEMORY_US = 10_000_000;

/** No store has so many servers at once. If more are known, most of them no longer exist, so all are dropped. */
const MAX_DOMAINS = 1_000;

/**
 * Estimates how far the clock of one server is ahead of this process's clock.
 *
 * Each answer gives a lower bound: the store's time at the decision minus this process's time when the answer arrived.
 * The largest of these bounds is used. It is too small by the latency of the fastest answer, so a converted instant is
 * never too early.
 *
 * An upper bound is the store's time minus this process's time when the request was sent. If this bound is below the
 * estimated offset, the store's clock was set back.
 */
export class StoreTime {
  private latest = -Infinity;
  private before = -Infinity;
  private sinceUs = -Infinity;
  /**
   * Whether the store answers synchronously. Then no time passes until the answer arrives, so each answer gives the
   * exact offset.
   */
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

  /** A lower bound of the time by which the store's clock is ahead of this process's clock. */
  get offsetUs(): number {
    return Math.max(this.latest, this.before);
  }
}

/** The clocks of a store: each of its servers (its failure domains) has one. */
export class StoreTimes {
  private readonly byDomain = new Map<string, StoreTime>();
  private readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  timeFor(step: Step): StoreTime {
    const { store, byDomain } = this;
    const domain = domainOf(store, step);
    return getOrMake(byDomain, domain, () => {
      if (byDomain.size >= MAX_DOMAINS) byDomain.clear();
      return new StoreTime(store.sync);
    });
  }
}
