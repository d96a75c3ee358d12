/**
 * A token bucket for those starts of a key in this process that the store did not count. It refills at the full pace.
 */

import type { QueueRule } from '@spillway/core/store';
import { periodOf } from './paces.js';
import type { Slot } from './slots.js';

interface CountedStart {
  readonly startUs: number;
  readonly costUs: number;
  fullUs: number;
}

export class LocalPace {
  private readonly starts = new Map<Slot, CountedStart>();
  private beforeUs = -Infinity;
  private lastUs = -Infinity;
  private isStale = false;
  private readonly index: number;

  constructor(index: number) {
    this.index = index;
  }

  get fullUs(): number {
    if (this.isStale) this.recompute();
    return this.lastUs;
  }

  /**
   * The time from which the bucket has enough units for a start on this slot; -Infinity if it does not limit the slot.
   */
  earliestUs(slot: Slot): number {
    if (slot.isLocal || this.fullUs === -Infinity) return -Infinity;
    const { cost, rule } = this.stepOf(slot);
    return Math.ceil(this.fullUs + (cost - rule.burst) * periodOf(rule));
  }

  /**
   * Counts a start. If the store granted the slot, and the bucket has enough units at the slot's time, the start is
   * left out, because the store counts it.
   */
  count(slot: Slot, startUs: number, nowUs: number): void {
    if (!slot.isLocal && this.earliestUs(slot) <= slot.at.localUs) return;
    this.evictExpired(nowUs);
    const { cost, rule } = this.stepOf(slot);
    const costUs = cost * periodOf(rule);
    const fullUs = Math.max(this.fullUs, startUs) + costUs;
    this.starts.set(slot, { startUs, costUs, fullUs });
    this.lastUs = fullUs;
  }

  uncount(slot: Slot): void {
    if (this.starts.delete(slot)) this.isStale = true;
  }

  private stepOf({ steps }: Slot): { readonly cost: number; readonly rule: QueueRule } {
    return steps[this.index] as { readonly cost: number; readonly rule: QueueRule };
  }

  private evictExpired(nowUs: number): void {
    if (this.isStale) this.recompute();
    for (const [slot, { fullUs }] of this.starts) {
      if (fullUs > nowUs) return;
      this.starts.delete(slot);
      this.beforeUs = fullUs;
    }
  }

  private recompute(): void {
    this.isStale = false;
    this.lastUs = this.beforeUs;
    for (const start of this.starts.values()) {
      start.fullUs = Math.max(this.lastUs, start.startUs) + start.costUs;
      this.lastUs = start.fullUs;
    }
  }
}
