/** What this process started of a key while the store did not know of it: a bucket at the whole pace. */

import type { QueueRule } from '../../contract/rule.js';
import type { Slot } from './slots.js';

export class LocalPace {
  private readonly periodUs: number;
  private readonly burst: number;
  /** When the bucket is full again. */
  private fullUs = -Infinity;

  constructor({ windowUs, limit, burst }: QueueRule) {
    this.periodUs = windowUs / limit;
    this.burst = burst;
  }

  /** Counts a start on a slot, if it is one of the stand-in's. */
  count({ isLocal, at, cost }: Slot): void {
    if (isLocal) this.fullUs = Math.max(this.fullUs, at.localUs) + cost * this.periodUs;
  }

  /** Whether a slot of the store comes too soon after what it does not know of. */
  forbids({ isLocal, at, cost }: Slot): boolean {
    return !isLocal && at.localUs < this.fullUs + (cost - this.burst) * this.periodUs;
  }

  isOver(nowUs: number): boolean {
    return this.fullUs <= nowUs;
  }
}
