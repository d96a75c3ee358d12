/**
 * When to check for a pause before a start: early enough for the answer to arrive and, while a pause is likely, as late
 * as possible.
 */

/**
 * The usual time from a check to the start. One check covers all jobs of a key that this process starts in that time.
 */
export const CHECK_AHEAD_US = 50_000;

/** Safety margins. An answer can take this many times as long as earlier answers, and a timer can be 2 ms late. */
const SLOWER = 2;
const LATE_US = 2_000;

/** For this long after a pause of any key, another pause is likely. */
const LIKELY_US = 60_000_000;

/**
 * A faster answer lowers the known latency by this part of the difference. The latency of a slower answer replaces it
 * at once.
 */
const FASTER = 1 / 8;

export function checkDurationUs(latencyUs: number): number {
  return SLOWER * latencyUs + LATE_US;
}

export class PauseCheckTime {
  private latencyUs = 0;
  private lastPauseUs = -Infinity;

  learn(latencyUs: number, pausedUntilUs: number): void {
    const slowerUs = latencyUs - this.latencyUs;
    this.latencyUs += slowerUs > 0 ? slowerUs : slowerUs * FASTER;
    this.lastPauseUs = Math.max(this.lastPauseUs, pausedUntilUs);
  }

  /**
   * When to check before a start at `startUs` by this process's clock. While a pause is likely, this is as late as
   * possible. Otherwise it is at least {@link CHECK_AHEAD_US} before the start.
   */
  checkUs(startUs: number): number {
    const isLikely = startUs < this.lastPauseUs + LIKELY_US;
    const latestUs = this.latestUs(startUs);
    return isLikely ? latestUs : Math.min(startUs - CHECK_AHEAD_US, latestUs);
  }

  latestUs(startUs: number): number {
    return startUs - checkDurationUs(this.latencyUs);
  }
}
