/** An instant by the clock that told it. */

import type { StoreTime } from './store-time.js';

export class Moment {
  private readonly us: number;
  private readonly time: StoreTime | undefined;

  /** @param time of the store whose clock told it; undefined: our own did */
  constructor(us: number, time: StoreTime | undefined) {
    this.us = us;
    this.time = time;
  }

  /** When it comes by our clock. It may change a little with each answer, as more is known of the store's clock. */
  get localUs(): number {
    return this.time ? this.us - this.time.offsetUs : this.us;
  }

  /** So many microseconds later. */
  later(us: number): Moment {
    return new Moment(this.us + us, this.time);
  }

  /** Exact for instants of one clock. */
  isBefore(other: Moment): boolean {
    return this.time === other.time ? this.us < other.us : this.localUs < other.localUs;
  }
}
