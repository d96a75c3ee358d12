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
