/** The only place that reads a clock. */

interface Performance {
  now(): number;
  readonly timeOrigin: number;
}
declare const performance: Performance;

/** A source of time that never runs backwards. */
export interface Clock {
  /** Microseconds since the Unix epoch, a whole number. */
  nowUs(): number;
}

class SystemClock implements Clock {
  // Both are looked up once, when first needed: each look costs a quarter of a decision.
  private source: Performance | undefined;
  private originMs = 0;

  nowUs(): number {
    if (this.source === undefined) {
      this.source = performance;
      this.originMs = performance.timeOrigin;
    }
    return Math.floor((this.originMs + this.source.now()) * 1000);
  }
}

/**
 * The process's monotonic clock, set to the epoch when the process started; not moved by later changes of the wall
 * clock.
 */
export const systemClock: Clock = new SystemClock();

/** The wall clock, for the one legacy header that needs it. */
export function wallClockMs(): number {
  return Date.now();
}

/** So long the wall clock is not read again: it is set rarely, and to read it costs a tenth of a reservation. */
const READ_EVERY_US = 10_000;

/** The instants of a clock by the wall clock. */
export class WallTime {
  private readonly everyUs: number;
  private readUs = -Infinity;
  private offsetMs = 0;

  constructor(clock: Clock) {
    // A clock that a test moves does not tell how old a reading is.
    this.everyUs = clock === systemClock ? READ_EVERY_US : 0;
  }

  /** In milliseconds since the epoch, by `Date.now()`. @param nowUs what the clock says now */
  at(us: number, nowUs: number): number {
    if (!(Math.abs(nowUs - this.readUs) < this.everyUs)) {
      this.readUs = nowUs;
      this.offsetMs = wallClockMs() - nowUs / 1_000;
    }
    return this.offsetMs + us / 1_000;
  }
}
