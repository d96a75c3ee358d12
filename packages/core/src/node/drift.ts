/** Measures the event loop delay by how late a periodic timer fires. */

const WEIGHT = 0.2;

export class TimerDrift {
  private averageMs = 0;
  private spanMs: number;
  /** The duration of the last complete loop iteration, from the timer until pending events were handled. */
  private turnMs = 0;
  private turnFromMs: number | undefined;
  private readonly periodMs: number;
  private firedMs: number;

  constructor(periodMs: number, firedMs: number) {
    this.periodMs = periodMs;
    this.firedMs = firedMs;
    this.spanMs = periodMs;
  }

  /** Call it when the timer fires. If periods were missed, the delay counts once for each of them. */
  fired(nowMs: number): void {
    this.spanMs = nowMs - this.firedMs;
    // All due timers run before sockets are read. If other timers fill the loop, requests are late although this timer
    // is on time, so the duration of the iteration counts too.
    const turnMs = this.turnFromMs === undefined ? this.turnMs : nowMs - this.turnFromMs;
    const waitMs = Math.max(0, this.spanMs - this.periodMs, turnMs);
    const periods = Math.max(1, this.spanMs / this.periodMs);
    this.averageMs += (waitMs - this.averageMs) * (1 - (1 - WEIGHT) ** periods);
    this.firedMs = nowMs;
    this.turnFromMs ??= nowMs;
  }

  /**
   * Call it at the end of the loop iteration in which the timer fired. Returns false if called twice in one iteration.
   */
  turned(nowMs: number): boolean {
    if (this.turnFromMs === undefined) return false;
    this.turnMs = nowMs - this.turnFromMs;
    this.turnFromMs = undefined;
    return true;
  }

  /** The expected delay of an event that arrives now: the average, or how late the loop already is, if that is more. */
  waitMs(nowMs: number): number {
    const lateMs = nowMs - (this.turnFromMs ?? this.firedMs + this.periodMs);
    return Math.max(this.averageMs, lateMs);
  }

  /** How much time a reading covers if it is made now. */
  coveredMs(nowMs: number): number {
    return Math.max(this.spanMs, nowMs - this.firedMs);
  }
}
