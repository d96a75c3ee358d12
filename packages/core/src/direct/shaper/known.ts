/** What this process knows of a key from the answers of the store, and from pauses of its own. */

import type { Moment } from './moment.js';
import type { Heard, Slot } from './slots.js';

/** What was asked for so long before a slot, or later, is new enough for the slot. */
export const AHEAD_US = 50_000;

export class Known {
  /** When the newest of the answers was asked. */
  private seenUs = -Infinity;
  private pausedUntil: Moment | undefined;
  /** The end of a pause that this process began, by our clock, until the store has told of it. */
  private ownUs = -Infinity;

  hear({ askedUs, failure, pausedUntil }: Heard): void {
    if (askedUs < this.seenUs) return;
    this.seenUs = askedUs;
    // A store that failed has not said that the pause is over.
    this.pausedUntil = pausedUntil ?? (failure ? this.pausedUntil : undefined);
    if (!failure && pausedUntil && pausedUntil.localUs >= this.ownUs) this.ownUs = -Infinity;
  }

  /** Nothing starts before `us`, by our clock, though the store may not know of it yet. */
  pause(us: number): void {
    this.ownUs = Math.max(this.ownUs, us);
  }

  /** Before this instant the store may grant slots inside a pause of which it does not know. */
  get unheardUs(): number {
    return this.ownUs;
  }

  /** Whether a pause that began more than {@link AHEAD_US} before the slot would be known. */
  isSeen({ at }: Slot): boolean {
    return at.localUs - this.seenUs <= AHEAD_US;
  }

  isPaused({ at }: Slot): boolean {
    const { pausedUntil, ownUs } = this;
    return at.localUs < ownUs || (pausedUntil !== undefined && at.isBefore(pausedUntil));
  }

  /** When the pause is over, by our clock; `nowUs` if there is none. */
  freeUs(nowUs: number): number {
    return Math.max(nowUs, this.ownUs, this.pausedUntil?.localUs ?? nowUs);
  }
}
