/** Durations as people write them, in whole microseconds. */

import { mustBe } from './errors.js';

type Unit = 'ms' | 's' | 'm' | 'h' | 'd' | 'w';

/**
 * `'250ms'`, `'10s'`, `'1m'`, `'1.5h'`, `'1d'`, `'2w'`, or a number of milliseconds. Any string has this type, because
 * many durations come from the environment; one that is none throws where it is given. The texts here are what editors
 * suggest.
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

/** Microseconds in 400 days, the longest window. */
const MAX_WINDOW_US: number = 400 * UNIT_US.d;

/**
 * A duration in whole microseconds, or NaN if it is none: not a string of the form above, negative, not finite, or not
 * a whole number of microseconds.
 */
export function parseDuration(duration: unknown): number {
  let us = Number.NaN;
  if (typeof duration === 'number') {
    us = duration * 1000;
  } else if (typeof duration === 'string') {
    const match = /^(\d{1,15}(?:\.\d{1,9})?)(ms|s|m|h|d|w)$/.exec(duration);
    if (match) us = Number(match[1]) * UNIT_US[match[2] as Unit];
  }
  // 0.3 ms is 300.00000000000006 us in floating point: take the whole number that was meant.
  const whole = Math.round(us);
  return whole >= 0 && whole <= Number.MAX_SAFE_INTEGER && Math.abs(us - whole) < 1e-3
    ? whole
    : Number.NaN;
}

/**
 * A duration in whole microseconds.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID` if it is no duration.
 */
export function toMicroseconds(duration: Duration, option = 'duration'): number {
  const us = parseDuration(duration);
  if (Number.isNaN(us)) {
    throw mustBe(option, "a duration such as '250ms', '10s' or '1m', or milliseconds", duration);
  }
  return us;
}

/**
 * A duration in milliseconds, read as every option reads it: for timers and sums of your own. A number stays as it is.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID` if it is no duration: negative, not finite, without a unit that we have
 * (`ms`, `s`, `m`, `h`, `d`, `w`), or not a whole number of microseconds
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
 * @throws SpillwayError `SPW_WINDOW_INVALID` unless it is from 1 ms to 400 days.
 */
export function windowToMicroseconds(window: Duration): number {
  const us = parseDuration(window);
  if (us >= 1_000 && us <= MAX_WINDOW_US) return us;
  const what = "a duration from 1ms to 400d such as '10s' or '1m'";
  throw mustBe('window', what, window, 'SPW_WINDOW_INVALID');
}
