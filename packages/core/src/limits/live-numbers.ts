import { isPlainObject, MAX_LIMIT } from '../base/checks.js';
import { mustBe } from '../base/errors.js';
import type { LiveLimits } from '../contract/control.js';
import type { Numbers } from '../contract/control-link.js';

/**
 * Replaces declared numbers with live numbers. Checks that `live` is an object, that a factor is valid and alone, and
 * that no window replaces a calendar. `rateLimit` and other limiters check the resulting numbers.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_WINDOW_INVALID` for a live window if the declared window is a
 * calendar
 * @example
 * ```ts run
 * import { liveNumbers } from '@spillway/core/control';
 *
 * liveNumbers({ limit: 100, window: '1m' }, { limit: 200 }).limit; // 200
 * liveNumbers({ limit: 100, window: '1m' }, { factor: 1.5 }).limit; // 150
 * ```
 */
export function liveNumbers<Declared extends Numbers>(
  declared: Declared,
  live: LiveLimits,
): Declared {
  if (!isPlainObject(live)) throw mustBe('limits', 'an object', live);
  const { factor, limit, window, burst } = live;
  // A live window would replace the calendar: 1,000 a month could become 1,000 a minute.
  if (window !== undefined && typeof declared.window === 'object') {
    throw mustBe('window', 'left out for a limit by calendar', window, 'SPW_WINDOW_INVALID');
  }
  if (factor === undefined) {
    const set = { limit: limit ?? declared.limit, window: window ?? declared.window };
    return { ...declared, ...set, burst: burst ?? declared.burst };
  }
  // With other numbers present, it would be unclear which of them the factor multiplies.
  if (limit !== undefined || window !== undefined || burst !== undefined) {
    throw mustBe('factor', 'given without limit, window and burst', factor);
  }
  const own = declared.burst;
  return {
    ...declared,
    limit: multiplied(declared.limit, factor, declared.algorithm?.maxLimit),
    burst: own === undefined ? own : multiplied(own, factor),
  };
}

function multiplied(units: number, factor: number, most = MAX_LIMIT): number {
  if (!(typeof factor === 'number' && factor > 0 && factor <= MAX_LIMIT)) {
    throw mustBe('factor', 'a number above 0 up to 1,000,000,000', factor);
  }
  // In binary, 0.29 x 100 is slightly less than 29. Rounding to 15 digits removes the error.
  const exact = Number((units * factor).toPrecision(15));
  return Math.min(Math.max(Math.floor(exact), 1), most);
}
