/** The largest group, and how long to wait for the answer to a group. */

import { SpillwayError } from '../base/errors.js';

/** The most steps of one group: Redis does one thing at a time, and so many steps take it some 10 ms. */
export const MAX_STEPS = 1_000;

/** Up to so many steps have the deadline of one step. */
const FREE_STEPS = 128;

/** Each further block of so many steps adds that time once more. */
const EXTRA_STEPS = 512;

/** The error for a group of more than {@link MAX_STEPS} steps; such a group is not sent. */
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
