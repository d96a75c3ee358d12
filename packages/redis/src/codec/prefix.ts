/** The prefix of all key names. */

import { SpillwayError } from '@spillway/core';

export const DEFAULT_PREFIX = 'spw:';

/** Allows no braces. The first brace of a name ends its prefix, so names with different prefixes never collide. */
const PREFIX = /^[A-Za-z0-9:_.,-]{1,32}$/;

/**
 * The option `prefix` of the store and of the control, or its default.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
export function prefixFrom(prefix: unknown = DEFAULT_PREFIX): string {
  if (typeof prefix === 'string' && PREFIX.test(prefix)) return prefix;
  const got = typeof prefix === 'string' ? JSON.stringify(prefix.slice(0, 40)) : typeof prefix;
  throw new SpillwayError(
    'SPW_OPTION_INVALID',
    `prefix must be 1 to 32 of A-Z a-z 0-9 : _ - . , got ${got}`,
  );
}
