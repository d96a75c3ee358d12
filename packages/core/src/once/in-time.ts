/** Calls of a store's values: within a time, and never thrown or rejected. */

import { systemClock } from '../base/clock.js';
import { isThenable } from '../base/host.js';
import { type Result, within } from '../base/within.js';

/** What `call` gives now or later; an error if it fails, or takes longer than `ms`. */
export function inTime<T>(
  ms: number,
  call: (deadlineUs: number) => T | PromiseLike<T>,
): Result<T> | Promise<Result<T>> {
  try {
    const given = call(systemClock.nowUs() + ms * 1000);
    return isThenable(given) ? within(ms, given as PromiseLike<T>) : { value: given };
  } catch (error) {
    return { error };
  }
}
