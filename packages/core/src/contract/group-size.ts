/** How large a group may be, and how long its answer may take. */

import { SpillwayError } from '../base/errors.js';

/** The most steps of one group: Redis, which does one thing at a time, decides so many in some 10 ms. */
export const MAX_STEPS = 1_000;

/** So many steps are decided in the time of one, as far as a deadline goes. */
const FREE_STEPS = 128;

/** Each further so many have as much time again. */
const EXTRA_STEPS = 512;

/** What a group of more than {@link MAX_STEPS} steps is answered, unsent. */
export function tooLarge(): SpillwayError {
  return new SpillwayError(
    'SPW_GROUP_TOO_LARGE',
    `one call may ask for at most ${MAX_STEPS} keys or limits: ask in several calls`,
  );
}

/** How long to wait for a group of `steps`, where one step may take `timeoutUs`. */
export function timeoutOf(steps: number, timeoutUs: number): number {
  if (steps <= FREE_STEPS) return timeoutUs;
  return timeoutUs * (1 + Math.ceil((steps - FREE_STEPS) / EXTRA_STEPS));
}
