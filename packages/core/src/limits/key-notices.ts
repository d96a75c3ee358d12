/** What may be a mistake in the `key` of a limiter, as far as its text shows. */

import type { Notice } from '../contract/observer.js';

/** An address in the text of a function: a property such as `raw.ip`, or a header field that holds one. */
const ADDRESS = /\b(?:ip|remoteAddress|x-forwarded-for)\b/i;

/** What gives an address in its canonical form, IPv6 by /64. */
const CANONICAL = /clientIp|canonicalAddress/;

/** What frameworks' requests have and the limit request does not: it is `raw` that has it. */
const OF_RAW = 'user|session|auth|body|query|params|headers|cookies';

/** The parameter of a function: of `request => ...`, or the first in parentheses, as a name or as a pattern. */
const PARAMETER = /^(?:async\s+)?(?:([\w$]+)\s*=>|[^(]*\(\s*(?:([\w$]+)|(\{[^)]*)))/;

/** A text that names where a caller's key is to be found. */
const PLACE =
  /^(?:x-[\w-]+|(?:[\w-]*api)?[-_]?key|authorization|cookie|(?:client|remote)?[-_]?(?:ip|address)|(?:user|session|account|tenant)[-_]?(?:id)?|(?:re?q|request|raw)\..+)$/i;

/** All there is to tell of the `key` of a limiter. */
export function keyNotices(name: string, key: unknown): readonly Notice[] {
  if (typeof key === 'string' && PLACE.test(key)) {
    const message = `the key of limiter "${name}" is the text "${key}", the same for all callers: write a function, as in key: ({ raw }) => raw.user?.id`;
    return [{ code: 'SPW_KEY_CONSTANT', message }];
  }
  if (typeof key !== 'function') return [];
  const text = String(key);
  const read = misread(text);
  if (read !== undefined) {
    const message = `the key of limiter "${name}" reads ${read} of the limit request, which has none: read raw.${read}`;
    return [{ code: 'SPW_KEY_MISREAD', message }];
  }
  if (!ADDRESS.test(text) || CANONICAL.test(text)) return [];
  const message = `the key of limiter "${name}" is an address, of which each IPv6 client has 2^64: leave key out, or use clientIp of the request`;
  return [{ code: 'SPW_KEY_RAW_ADDRESS', message }];
}

/** The property that a function reads of its parameter as if that were the framework's request. */
function misread(text: string): string | undefined {
  const [, bare, named, pattern] = PARAMETER.exec(text) ?? [];
  const parameter = (bare ?? named)?.replaceAll('$', '\\$');
  const reads = parameter
    ? new RegExp(`(?<![\\w$.])${parameter}\\??\\.(${OF_RAW})\\b`).exec(text)
    : new RegExp(`^\\{(?:[^{}]*,)?\\s*(${OF_RAW})\\b`).exec(pattern ?? '');
  return reads?.[1];
}
