import { SpillwayError } from '@spillway/core';

export const DEFAULT_PREFIX = 'spw:';

/** Allows no braces, because a prefix ends at the first brace. So keys with different prefixes never collide. */
const PREFIX = /^[A-Za-z0-9:_.,-]{1,32}$/;

export function prefixFrom(prefix: unknown = DEFAULT_PREFIX): string {
  if (typeof prefix === 'string' && PREFIX.test(prefix)) return prefix;
  const got = typeof prefix === 'string' ? JSON.stringify(prefix.slice(0, 40)) : typeof prefix;
  throw new SpillwayError(
    'SPW_OPTION_INVALID',
    `prefix must be 1 to 32 of A-Z a-z 0-9 : _ - . , got ${got}`,
  );
}
