/** How long before its start a job of a shaper looks once more whether its key is paused. */

import { AHEAD_US, timeForLookUs } from '../look-ahead.js';

/** So long after a pause of any key the next one is thought likely. */
const LIKELY_US = 60_000_000;

/** Of the time by which an answer is faster than those before, this part counts. One that is slower counts whole. */
const FASTER = 1 / 8;

export class LookAhead {
  /** How long the store takes to answer. */
  private answerUs = 0;
  /** When the last pause ended, or will, by our clock. */
  private lastPauseUs = -Infinity;

  hear(answerUs: number, pausedUntilUs: number): void {
    const slowerUs = answerUs - this.answerUs;
    this.answerUs += slowerUs > 0 ? slowerUs : slowerUs * FASTER;
    this.lastPauseUs = Math.max(this.lastPauseUs, pausedUntilUs);
  }

  /** When to look for a start at this instant of our clock. */
  lookUs(startUs: number): number {
    const isLikely = startUs < this.lastPauseUs + LIKELY_US;
    const latestUs = this.latestUs(startUs);
    return isLikely ? latestUs : Math.min(startUs - AHEAD_US, latestUs);
  }

  /** When to look at the latest, that the answer comes before the start: earlier for a store far away. */
  latestUs(startUs: number): number {
    return startUs - timeForLookUs(this.answerUs);
  }
}
