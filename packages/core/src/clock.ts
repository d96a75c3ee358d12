/** The only place that reads a clock. */

declare const performance: { now(): number; readonly timeOrigin: number };

/** A source of time that never runs backwards. */
export interface Clock {
  /** Microseconds since the Unix epoch, a whole number. */
  nowUs(): number;
}

/** The process's monotonic clock, set to the epoch when the process started; not moved by later changes of the wall clock. */
export const systemClock: Clock = {
  nowUs: () => Math.floor((performance.timeOrigin + performance.now()) * 1000),
};
