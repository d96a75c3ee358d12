import { mustBe, planHint } from './errors.js';

type Unit = 'ms' | 's' | 'm' | 'h' | 'd' | 'w';

/**
 * `'250ms'`, `'10s'`, `'1m'`, `'1.5h'`, `'1d'`, `'2w'`, or a number of milliseconds. The type accepts any string,
 * because durations often come from environment variables. An invalid one throws where it is used.
 */
export type Duration =
  | number
  | '100ms'
  | '1s'
  | '10s'
  | '1m'
  | '15m'
  | '1h'
  | '1d'
  | (string & Record<never, never>);

const UNIT_US: Record<Unit, number> = {
  ms: 1_000,
  s: 1_000_000,
  m: 60_000_000,
  h: 3_600_000_000,
  d: 86_400_000_000,
  w: 604_800_000_000,
};

/** The longest window, and the longest time that a claim or a value is stored: 400 days. */
export const LONGEST_US: number = 400 * 86_400_000_000;

/** Returns the duration in whole microseconds. Returns NaN if it is invalid or not a whole number of microseconds. */
export function parseDuration(duration: unknown): number {
  let us = Number.NaN;
  if (typeof duration === 'number') {
    us = duration * 1000;
  } else if (typeof duration === 'string') {
    const match = /^(\d{1,15}(?:\.\d{1,9})?)(ms|s|m|h|d|w)$/.exec(duration);
    if (match) us = Number(match[1]) * UNIT_US[match[2] as Unit];
  }
  // 0.3 ms is 300.00000000000006 us in floating point, so allow for a rounding error.
  const whole = Math.round(us);
  return whole >= 0 && whole <= Number.MAX_SAFE_INTEGER && Math.abs(us - whole) < 1e-3
    ? whole
    : Number.NaN;
}

/**
 * A duration in whole microseconds.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID` if it is not a duration
 */
export function toMicroseconds(duration: Duration, option = 'duration'): number {
  const us = parseDuration(duration);
  if (Number.isNaN(us)) {
    throw mustBe(option, "a duration such as '250ms', '10s' or '1m', or milliseconds", duration);
  }
  return us;
}

/**
 * Converts a duration to milliseconds, in the same way as all options, for your own timers and sums. A number is
 * returned unchanged.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID` if it is not a duration: negative, not finite, a string without one of the
 * units `ms`, `s`, `m`, `h`, `d`, `w`, or not a whole number of microseconds
 * @example
 * ```ts run
 * import { duration } from '@spillway/core';
 *
 * duration('1m'); // 60_000
 * duration('1.5h') / duration('1s'); // 5_400
 * ```
 */
export function duration(value: Duration): number {
  return toMicroseconds(value) / 1000;
}

/**
 * A window in whole microseconds.
 *
 * @throws SpillwayError `SPW_WINDOW_INVALID` unless it is from 1 ms to 400 days
 */
export function windowToMicroseconds(window: Duration): number {
  const us = parseDuration(window);
  if (us >= 1_000 && us <= LONGEST_US) return us;
  const what = "a duration from 1ms to 400d such as '10s' or '1m'";
  throw mustBe('window', what, window, 'SPW_WINDOW_INVALID', planHint(window));
}
