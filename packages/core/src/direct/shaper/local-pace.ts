/** What this process started of a key while the store did not know of it: a bucket at the whole pace. */

import { periodUsOf, type Slot } from './hearing.js';

export class LocalPace {
  /** When the bucket is full again. */
  private fullUs = -Infinity;
  private readonly burst: number;

  constructor(burst: number) {
    this.burst = burst;
  }

  /** Counts a start on a slot, if it is one of the stand-in's. */
  count(slot: Slot): void {
    const { isLocal, at, cost } = slot;
    if (isLocal) this.fullUs = Math.max(this.fullUs, at.localUs) + cost * periodUsOf(slot);
  }

  /** Whether a slot of the store comes too soon after what it does not know of. */
  forbids(slot: Slot): boolean {
    const { isLocal, at, cost } = slot;
    return !isLocal && at.localUs < this.fullUs + (cost - this.burst) * periodUsOf(slot);
  }

  isOver(nowUs: number): boolean {
    return this.fullUs <= nowUs;
  }
}
