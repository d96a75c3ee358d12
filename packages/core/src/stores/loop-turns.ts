/** Counts turns of the event loop, to tell a reply that came late from one that this process read late. */

import type { Clock } from '../base/clock.js';
import { afterIdly, endsTimersWithRequests } from '../base/host.js';

/** So long after the last late reply turns are still counted. */
const WATCH_US = 10_000_000;

/**
 * Within so many turns a call is sent, answered and read, also if others are sent before it. However long the turns
 * are, the store has not made the caller wait.
 */
const TURNS_OF_A_CALL = 4;

export class LoopTurns {
  /** Turns since counting began; -1 while nothing is counted. */
  now = -1;
  private lateUs = 0;
  /** There, timers end with their request, and the clock stands still while the process computes. */
  private readonly counts = !endsTimersWithRequests();
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /**
   * Whether a reply that came late came late to this process, too: it could have read it before.
   *
   * @param then {@link now} when the call was made
   * @param unknown what to return if turns were not counted at that moment
   */
  hasPassedSince(then: number, unknown: boolean): boolean {
    if (!this.counts) return true;
    this.lateUs = this.clock.nowUs();
    if (this.now < 0) {
      this.now = 0;
      this.watch();
    }
    return then < 0 ? unknown : this.now - then > TURNS_OF_A_CALL;
  }

  private watch(): void {
    afterIdly(1, () => {
      const isOver = this.clock.nowUs() - this.lateUs > WATCH_US;
      this.now = isOver ? -1 : this.now + 1;
      if (!isOver) this.watch();
    });
  }
}
