/** What this process knows of a key from the answers of the store, and from pauses of its own. */

import { Moment } from './moment.js';
import type { Heard, Slot } from './slots.js';

/** What was asked for so long before a slot, or later, is new enough for the slot. */
export const AHEAD_US = 50_000;

export class Known {
  /** When the newest of the answers was asked. */
  private seenUs = -Infinity;
  private pausedUntil: Moment | undefined;

  hear({ askedUs, failure, pausedUntil }: Heard): void {
    if (askedUs < this.seenUs) return;
    this.seenUs = askedUs;
    // A store that failed has not said that the pause is over.
    this.pausedUntil = pausedUntil ?? (failure ? this.pausedUntil : undefined);
  }

  /** Nothing starts before `us`, by our clock, whatever an answer to an older question says. */
  pause(us: number, nowUs: number): void {
    const until = new Moment(us, undefined);
    if (!this.pausedUntil || this.pausedUntil.isBefore(until)) this.pausedUntil = until;
    this.seenUs = nowUs;
  }

  /** Whether a pause that began more than {@link AHEAD_US} before the slot would be known. */
  isSeen({ at }: Slot): boolean {
    return at.localUs - this.seenUs <= AHEAD_US;
  }

  isPaused({ at }: Slot): boolean {
    return this.pausedUntil !== undefined && at.isBefore(this.pausedUntil);
  }

  /** When the pause is over, by our clock; `nowUs` if there is none. */
  freeUs(nowUs: number): number {
    return Math.max(nowUs, this.pausedUntil?.localUs ?? nowUs);
  }
}
