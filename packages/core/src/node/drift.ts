/** The wait for the event loop, as a timer that should fire each period sees it. */

/** The weight of one period's wait in the average. */
const WEIGHT = 0.2;

export class TimerDrift {
  private averageMs = 0;
  private spanMs: number;
  /** How long the turn in which the timer fired took from there; undefined while it lasts. */
  private turnMs: number | undefined = 0;
  private readonly periodMs: number;
  private firedMs: number;

  constructor(periodMs: number, firedMs: number) {
    this.periodMs = periodMs;
    this.firedMs = firedMs;
    this.spanMs = periodMs;
  }

  /** The timer fired. A late one counts for all the periods in which it should have. */
  fired(nowMs: number): void {
    this.spanMs = nowMs - this.firedMs;
    // Due timers run before sockets are read: where they crowd the loop, the timer is on time and requests are not.
    const turnMs = this.turnMs ?? this.spanMs;
    const waitMs = Math.max(0, this.spanMs - this.periodMs, turnMs);
    const periods = Math.max(1, this.spanMs / this.periodMs);
    this.averageMs += (waitMs - this.averageMs) * (1 - (1 - WEIGHT) ** periods);
    this.firedMs = nowMs;
    this.turnMs = undefined;
  }

  /** The loop has come round: timers and sockets that were ready when the timer fired have been handled. */
  turned(nowMs: number): void {
    this.turnMs ??= nowMs - this.firedMs;
  }

  /** What an event that arrives now waits: the average, or how late the loop already is. */
  waitMs(nowMs: number): number {
    const sinceMs = nowMs - this.firedMs;
    return Math.max(this.averageMs, this.turnMs === undefined ? sinceMs : sinceMs - this.periodMs);
  }

  /** How long a time the newest wait speaks of. */
  coveredMs(nowMs: number): number {
    return Math.max(this.spanMs, nowMs - this.firedMs);
  }
}
