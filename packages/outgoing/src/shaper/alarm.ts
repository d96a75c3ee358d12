/** The one timer of a shaper. */

import type { Clock } from '@spillway/core';
import { after, afterIdly } from '@spillway/core/store';

/** Hosts cannot wait longer than 24 days; the clock may be set meanwhile. */
const LONGEST_MS = 3_600_000;

export class Alarm {
  private cancel: (() => void) | undefined;
  private readonly clock: Clock;
  private readonly ring: () => void;

  constructor(clock: Clock, ring: () => void) {
    this.clock = clock;
    this.ring = ring;
  }

  /**
   * Calls back at an instant of our clock, or sometimes sooner, instead of when it was last set to.
   *
   * @param isWork whether the process stays alive for it
   */
  set(us: number, isWork: boolean): void {
    this.cancel?.();
    this.cancel = undefined;
    if (us === Infinity) return;
    // Rounded up: hosts drop the fraction, and would come too early.
    const ms = Math.ceil((us - this.clock.nowUs()) / 1_000);
    const wait = isWork ? after : afterIdly;
    this.cancel = wait(Math.min(Math.max(ms, 0), LONGEST_MS), () => {
      this.cancel = undefined;
      this.ring();
    });
  }
}
