/** How long the event loop of this process stood still, so that a store is not blamed for it. */

import { systemClock } from '../base/clock.js';
import { afterIdly, endsTimersWithRequests } from '../base/host.js';

/** A timer comes this often while calls are under way. It costs less than 0.1 % of a core. */
const PULSE_MS = 5;

/** Timers are this late on a machine that does nothing else. */
const USUAL_US = 2_000;

export class Stalls {
  private underWay = 0;
  private stalledUs = 0;
  private dueUs = Infinity;
  private readonly isIdle = endsTimersWithRequests();

  /** A call begins. Returns what {@link end} needs. */
  begin(nowUs: number): number {
    this.underWay += 1;
    if (this.dueUs === Infinity && !this.isIdle) this.beat(nowUs);
    return this.until(nowUs);
  }

  /** A call has ended. Returns how long the loop stood still meanwhile, in microseconds. */
  end(begun: number, nowUs: number): number {
    this.underWay -= 1;
    return this.until(nowUs) - begun;
  }

  /** So far. Replies may be handled before a timer that is overdue. */
  private until(nowUs: number): number {
    const lateUs = nowUs - this.dueUs;
    return this.stalledUs + (lateUs > USUAL_US ? lateUs : 0);
  }

  private beat(nowUs: number): void {
    this.dueUs = nowUs + PULSE_MS * 1000;
    afterIdly(PULSE_MS, () => {
      const laterUs = systemClock.nowUs();
      this.stalledUs = this.until(laterUs);
      this.dueUs = Infinity;
      if (this.underWay > 0) this.beat(laterUs);
    });
  }
}
