/** What this process started of a key, or promised, while the store did not know of it: a bucket at the whole pace. */

import { periodUsOf, type Slot } from './hearing.js';

/** A start that was counted. */
interface Counted {
  readonly startUs: number;
  readonly costUs: number;
  /** When the bucket is full again after it and those before it. */
  fullUs: number;
}

export class LocalPace {
  /** In the order in which they were counted. */
  private readonly starts = new Map<Slot, Counted>();
  /** When the bucket is full again after starts that are not kept any more. */
  private beforeUs = -Infinity;
  private lastUs = -Infinity;
  /** Whether one was taken away meanwhile. */
  private isStale = false;
  private readonly burst: number;

  constructor(burst: number) {
    this.burst = burst;
  }

  /** When the bucket is full again. */
  get fullUs(): number {
    if (this.isStale) this.countAgain();
    return this.lastUs;
  }

  /** The first instant for a slot that is not too soon after what the store does not know of. */
  earliestUs({ isLocal, cost, step }: Slot): number {
    if (isLocal || this.fullUs === -Infinity) return -Infinity;
    return Math.ceil(this.fullUs + (cost - this.burst) * periodUsOf({ step }));
  }

  /** Counts a start, if the store does not know of it, or knows an earlier one. */
  count(slot: Slot, startUs: number, nowUs: number): void {
    if (!slot.isLocal && this.earliestUs(slot) <= slot.at.localUs) return;
    this.forgetBefore(nowUs);
    const costUs = slot.cost * periodUsOf(slot);
    const fullUs = Math.max(this.fullUs, startUs) + costUs;
    this.starts.set(slot, { startUs, costUs, fullUs });
    this.lastUs = fullUs;
  }

  /** It will not start. */
  uncount(slot: Slot): void {
    if (this.starts.delete(slot)) this.isStale = true;
  }

  isOver(nowUs: number): boolean {
    return this.fullUs <= nowUs;
  }

  private forgetBefore(nowUs: number): void {
    if (this.isStale) this.countAgain();
    for (const [slot, { fullUs }] of this.starts) {
      if (fullUs > nowUs) return;
      this.starts.delete(slot);
      this.beforeUs = fullUs;
    }
  }

  private countAgain(): void {
    this.isStale = false;
    this.lastUs = this.beforeUs;
    for (const start of this.starts.values()) {
      start.fullUs = Math.max(this.lastUs, start.startUs) + start.costUs;
      this.lastUs = start.fullUs;
    }
  }
}
