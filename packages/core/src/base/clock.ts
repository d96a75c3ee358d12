/** Apart from the load signals for Node, only this module reads the host's time. */

interface Performance {
  now(): number;
  readonly timeOrigin: number;
}
declare const performance: Performance;

/** A source of time. Except in tests, it never runs backwards. */
export interface Clock {
  /** Microseconds since the Unix epoch, a whole number. */
  nowUs(): number;
}

class SystemClock implements Clock {
  // Looked up once, because that takes a quarter of the time of a decision, and at import, because fake timers replace
  // the global with one that stops when the test ends.
  private readonly source = performance;
  private readonly originMs = performance.timeOrigin;

  nowUs(): number {
    return Math.floor((this.originMs + this.source.now()) * 1000);
  }
}

/**
 * The process's monotonic clock: the wall-clock time of the process's start plus the time since then. Later changes of
 * the wall clock don't affect it.
 */
export const systemClock: Clock = new SystemClock();

/** The wall clock, for times that clients or developers read. */
export function wallClockMs(): number {
  return Date.now();
}

/** A reading of the wall clock is reused for this time, because each reading costs time. */
const READ_EVERY_US = 10_000;

/** Converts instants of a clock to wall-clock time. */
export class WallTime {
  private readonly everyUs: number;
  private readUs = -Infinity;
  private offsetMs = 0;

  constructor(clock: Clock) {
    // With a manual clock, readings are not reused, because such a clock doesn't show how old they are.
    this.everyUs = clock === systemClock ? READ_EVERY_US : 0;
  }

  /**
   * Converts an instant of the clock to milliseconds since the epoch, as in `Date.now()`.
   *
   * @param nowUs the clock's current time
   */
  at(us: number, nowUs: number): number {
    if (!(Math.abs(nowUs - this.readUs) < this.everyUs)) {
      this.readUs = nowUs;
      this.offsetMs = wallClockMs() - nowUs / 1_000;
    }
    return this.offsetMs + us / 1_000;
  }
}
