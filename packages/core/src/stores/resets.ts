/** Resets that a control tells of, passed on to what counts beside the store. */

import type { Control } from '../contract/control.js';
import type { StandIn } from './stand-in.js';

export class Resets {
  /** By limiter, the resets that were passed on last: those of a minute. */
  private readonly seen = new Map<string, ReadonlyMap<string, number>>();
  private readonly control: Control;
  private readonly standIn: StandIn;

  constructor(control: Control, standIn: StandIn) {
    this.control = control;
    this.standIn = standIn;
  }

  /** Passes on what was reset since the last call. Throws what the control throws. */
  follow(limiter: string): void {
    const resets = this.control.resetsOf?.(limiter);
    if (!resets) return;
    const before = this.seen.get(limiter);
    for (const [key, atMs] of resets) {
      if (before?.get(key) !== atMs) this.standIn.forget(limiter, key);
    }
    this.seen.set(limiter, new Map(resets));
  }
}
