/**
 * Finds probable mistakes in the `key` of a limiter: a string where a function was meant, or a function whose source
 * reads the wrong object or a raw address.
 */

import type { Notice } from '../contract/observer.js';

/** Matches a function that reads a raw address: a property such as `raw.ip`, or a header. */
const ADDRESS = /\b(?:ip|remoteAddress|x-forwarded-for)\b/i;

/** Matches expressions that return a canonical address, with IPv6 cut to a prefix. */
const CANONICAL = /clientIp|canonicalAddress/;

/** Properties that frameworks set on their requests: they are on `raw`, not on the limit request. */
const OF_RAW = 'user|session|auth|body|query|params|headers|cookies';

/** Finds the first parameter of a function, with or without parentheses, as a name or as a destructuring pattern. */
const PARAMETER = /^(?:async\s+)?(?:([\w$]+)\s*=>|[^(]*\(\s*(?:([\w$]+)|(\{[^)]*)))/;

/** Matches a `key` that is a string such as `'x-api-key'`, where a function that reads the key was probably meant. */
const PLACE =
  /^(?:x-[\w-]+|(?:[\w-]*api)?[-_]?key|authorization|cookie|(?:client|remote)?[-_]?(?:ip|address)|(?:user|session|account|tenant)[-_]?(?:id)?|(?:re?q|request|raw)\..+)$/i;

export function keyNotices(name: string, key: unknown): readonly Notice[] {
  if (typeof key === 'string' && PLACE.test(key)) {
    const message = `the key of limiter "${name}" is the string "${key}", the same for all callers: write a function, as in key: ({ raw }) => raw.user?.id`;
    return [{ code: 'SPW_KEY_CONSTANT', message }];
  }
  if (typeof key !== 'function') return [];
  const text = String(key);
  const read = misread(text);
  if (read !== undefined) {
    const message = `the key of limiter "${name}" reads ${read} of the limit request, which has no such property: read raw.${read}`;
    return [{ code: 'SPW_KEY_MISREAD', message }];
  }
  if (!ADDRESS.test(text) || CANONICAL.test(text)) return [];
  const message = `the key of limiter "${name}" is a raw address, and each IPv6 client has 2^64 of them: leave key out, or use clientIp of the request`;
  return [{ code: 'SPW_KEY_RAW_ADDRESS', message }];
}

function misread(text: string): string | undefined {
  const [, bare, named, pattern] = PARAMETER.exec(text) ?? [];
  const parameter = (bare ?? named)?.replaceAll('$', '\\$');
  const reads = parameter
    ? new RegExp(`(?<![\\w$.])${parameter}\\??\\.(${OF_RAW})\\b`).exec(text)
    : new RegExp(`^\\{(?:[^{}]*,)?\\s*(${OF_RAW})\\b`).exec(pattern ?? '');
  return reads?.[1];
}
