/** The numbers of a limit, with those that were set live. */

import { isPlainObject, MAX_LIMIT } from '../base/checks.js';
import { mustBe } from '../base/errors.js';
import type { LiveLimits } from '../contract/control.js';
import type { Numbers } from '../contract/control-link.js';

/**
 * The declared numbers, with what was set live in their place. Only the range of a factor is checked: `rateLimit` and
 * others check what they make of the rest.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
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
  if (factor === undefined) {
    const set = { limit: limit ?? declared.limit, window: window ?? declared.window };
    return { ...declared, ...set, burst: burst ?? declared.burst };
  }
  // With other numbers, nobody could tell which of them it multiplies.
  if (limit !== undefined || window !== undefined || burst !== undefined) {
    throw mustBe('factor', 'given without limit, window and burst', factor);
  }
  const own = declared.burst;
  return {
    ...declared,
    limit: multiplied(declared.limit, factor),
    burst: own === undefined ? own : multiplied(own, factor),
  };
}

/** `units` x `factor`, rounded down, within what a limit can be. */
function multiplied(units: number, factor: number): number {
  if (!(typeof factor === 'number' && factor > 0 && factor <= MAX_LIMIT)) {
    throw mustBe('factor', 'a number above 0 up to 1,000,000,000', factor);
  }
  // 0.29 x 100 is a little less than 29 in binary; 15 digits are what a number is sure to have.
  const exact = Number((units * factor).toPrecision(15));
  return Math.min(Math.max(Math.floor(exact), 1), MAX_LIMIT);
}
