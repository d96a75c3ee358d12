/** What this process knows of a key from the answers of the store, and from pauses of its own. */

import type { LookAhead } from './look-ahead.js';
import type { Moment } from './moment.js';
import type { Heard, Slot } from './slots.js';

export class Known {
  /** When the newest of the answers was asked. */
  private seenUs = -Infinity;
  private pausedUntil: Moment | undefined;
  /** The end of a pause that this process began, by our clock, until the store has told of it. */
  private ownUs = -Infinity;
  private readonly ahead: LookAhead;

  constructor(ahead: LookAhead) {
    this.ahead = ahead;
  }

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

  /** When to ask the store once more whether there is a pause, before a job starts on the slot. */
  lookUs({ at }: Slot): number {
    return this.ahead.lookUs(at.localUs);
  }

  /** Whether an answer is new enough for the slot: a pause that began before {@link lookUs} would be known. */
  isSeen(slot: Slot): boolean {
    return this.lookUs(slot) <= this.seenUs;
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
