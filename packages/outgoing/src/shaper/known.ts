/** What this process knows of a key from the answers of the store, and from pauses of its own. */

import type { LookAhead } from './look-ahead.js';
import type { Moment } from './moment.js';
import type { Heard, Slot } from './slots.js';

export class Known {
  /** When the newest of the answers was asked. */
  private seenUs = -Infinity;
  /** How long the newest of the answers took. */
  private answerUs = 0;
  /** The last start for which a look has found no pause, though by now it would be made later. */
  private lookedForUs = -Infinity;
  private pausedUntil: Moment | undefined;
  /** The end of a pause that this process began, by our clock, until the store has told of it. */
  private ownUs = -Infinity;
  private readonly ahead: LookAhead;

  constructor(ahead: LookAhead) {
    this.ahead = ahead;
  }

  hear({ askedUs, heardUs, failure, pausedUntil }: Heard): void {
    if (askedUs < this.seenUs) return;
    this.seenUs = askedUs;
    this.answerUs = heardUs - askedUs;
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

  /** When to ask the store once more whether there is a pause, before a job starts. */
  lookUs(startUs: number): number {
    return this.ahead.lookUs(startUs);
  }

  /** When to ask for it at the latest, that the answer comes before the start. */
  latestLookUs(startUs: number): number {
    return this.ahead.latestUs(startUs);
  }

  /** A look for a start at this instant, made in time, has told of no pause. */
  looked(startUs: number): void {
    this.lookedForUs = Math.max(this.lookedForUs, startUs);
  }

  /** Whether an answer is new enough for a start: a pause that began before {@link lookUs} would be known. */
  isSeen(startUs: number): boolean {
    return startUs <= this.lookedForUs || this.lookUs(startUs) <= this.seenUs;
  }

  /** Whether a slot may be so late because the store took long to answer, not because this process stood still. */
  excuses(lateUs: number): boolean {
    return lateUs <= this.answerUs;
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
