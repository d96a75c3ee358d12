/** The wait for the event loop, as a timer that should fire each period sees it. */

/** The weight of one period's wait in the average. */
const WEIGHT = 0.2;

export class TimerDrift {
  private averageMs = 0;
  private spanMs: number;
  /** How long the newest whole turn of the loop took, from the timer to where it came round. */
  private turnMs = 0;
  /** When the timer fired first in the turn that lasts; undefined between turns. */
  private turnFromMs: number | undefined;
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
    // Due timers run before sockets are read, this one too, and more than once if they are many: where they crowd the
    // loop, the timer is on time and requests are not.
    const turnMs = this.turnFromMs === undefined ? this.turnMs : nowMs - this.turnFromMs;
    const waitMs = Math.max(0, this.spanMs - this.periodMs, turnMs);
    const periods = Math.max(1, this.spanMs / this.periodMs);
    this.averageMs += (waitMs - this.averageMs) * (1 - (1 - WEIGHT) ** periods);
    this.firedMs = nowMs;
    this.turnFromMs ??= nowMs;
  }

  /**
   * The loop has come round: timers and sockets that were ready when the timer fired have been handled. False if that
   * was told already: the timer may fire more than once in a turn.
   */
  turned(nowMs: number): boolean {
    if (this.turnFromMs === undefined) return false;
    this.turnMs = nowMs - this.turnFromMs;
    this.turnFromMs = undefined;
    return true;
  }

  /** What an event that arrives now waits: the average, or how late the loop already is. */
  waitMs(nowMs: number): number {
    const lateMs = nowMs - (this.turnFromMs ?? this.firedMs + this.periodMs);
    return Math.max(this.averageMs, lateMs);
  }

  /** How long a time the newest wait speaks of. */
  coveredMs(nowMs: number): number {
    return Math.max(this.spanMs, nowMs - this.firedMs);
  }
}
