/** When the slots of a key may be used, by what this process knows. */

import { AHEAD_US } from '../look-ahead.js';
import { periodUsOf } from './hearing.js';
import type { Known } from './known.js';
import { LocalPace } from './local-pace.js';
import type { Slot } from './slots.js';

export class Timing {
  /** Whether the store is being asked for a pause, before a start. */
  isLooking = false;
  /** Work that starts elsewhere must be counted there, too. */
  readonly localPace: LocalPace;
  private readonly known: Known;
  /** When a job started last. */
  private startedUs = -Infinity;

  constructor(burst: number, known: Known) {
    this.localPace = new LocalPace(burst);
    this.known = known;
  }

  /** When it may be used, by our clock: what the store does not know of may put it off. */
  startUs(slot: Slot): number {
    return Math.max(slot.at.localUs, this.localPace.earliestUs(slot));
  }

  /**
   * When to ask the store once more whether there is a pause.
   *
   * @param isFirst false: others start before it. The later it is asked, the more of those behind it need no own look.
   */
  lookUs(slot: Slot, isFirst: boolean): number {
    const startUs = this.startUs(slot);
    return isFirst ? this.known.lookUs(startUs) : this.known.latestLookUs(startUs);
  }

  /** The last start that a look now does for, if one for this slot would. */
  looksUntilUs(slot: Slot, nowUs: number): number {
    const startUs = this.startUs(slot);
    return nowUs + startUs - this.known.lookUs(startUs);
  }

  isSeen(slot: Slot): boolean {
    return this.known.isSeen(this.startUs(slot));
  }

  /** Work starts on it, here or elsewhere. */
  use(slot: Slot, startUs: number, nowUs: number): void {
    this.localPace.count(slot, startUs, nowUs);
    if (startUs <= nowUs) this.startedUs = nowUs;
  }

  /** Whether nothing may start on it any more. */
  isVoid(slot: Slot, nowUs: number): boolean {
    return this.known.isPaused(slot) || this.isMissed(slot, nowUs);
  }

  private isMissed(slot: Slot, nowUs: number): boolean {
    const lateUs = nowUs - this.startUs(slot);
    const periodUs = periodUsOf(slot);
    if (lateUs <= AHEAD_US || lateUs <= periodUs) return false;
    if (this.isLooking && !this.isSeen(slot)) return false;
    // Where the answer came too late for several slots, their jobs must not start together.
    return !this.known.excuses(lateUs) || nowUs - this.startedUs < periodUs;
  }
}
