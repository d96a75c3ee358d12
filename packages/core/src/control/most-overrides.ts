/** How much a control keeps at most. */

import { SpillwayError } from '../base/errors.js';

/** Overrides at the same time. */
export const MAX_OVERRIDES = 10_000;

/** Entries of the history. */
export const MAX_CHANGES = 1_000;

/** The error of the override that is one too many. */
export function tooMany(): SpillwayError {
  return new SpillwayError(
    'SPW_OPTION_INVALID',
    `${MAX_OVERRIDES} overrides are in force already: clear some first, or let them end sooner`,
  );
}
