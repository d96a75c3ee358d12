/** How much a control keeps. */

import { SpillwayError } from '../base/errors.js';

/** Overrides at once. */
export const MAX_OVERRIDES = 10_000;

/** Entries of the audit trail. */
export const MAX_CHANGES = 1_000;

/** The error for one override too many. */
export function tooMany(): SpillwayError {
  return new SpillwayError(
    'SPW_OPTION_INVALID',
    `${MAX_OVERRIDES} overrides are in force already: clear some first, or let them end sooner`,
  );
}
