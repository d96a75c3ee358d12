import { SpillwayError } from '@spillway/core';
import { hexOf, hmacWith, sha256, utf8Bytes } from '@spillway/core/direct';
import { encodeName } from '@spillway/core/store';

const DEFAULT_PREFIX = 'spw:';

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

/** Returns the Redis key of one count. `code` is the result of `countOf`. */
export type KeyNamer = (limiter: string, key: string, code: string) => string;

/**
 * Returns a function that builds Redis keys, such as `spw:1{ada}api}b1`: the prefix, the version of the stored format
 * (1), the user's key in braces, the limiter with a `}` after it, and the code. With a secret, the HMAC of the user's
 * key replaces that key.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
export function keyNamer(secret?: string | Uint8Array, prefix: string = DEFAULT_PREFIX): KeyNamer {
  const hide = secret === undefined ? undefined : keyHasher(secret);
  const options = { hash, hide };
  return (limiter, key, code) => prefix + encodeName(limiter, key, code, options);
}

function hash(text: string): string {
  return hexOf(sha256(unitsOf(text)));
}

export function keyHasher(secret: string | Uint8Array): (key: string) => string {
  if (secret.length === 0) {
    throw new SpillwayError('SPW_OPTION_INVALID', 'hashKeys must be a secret, got an empty one');
  }
  const hmac = hmacWith(typeof secret === 'string' ? utf8Bytes(secret) : secret);
  return (key) => `#${hexOf(hmac(unitsOf(key)))}`;
}

/** The UTF-16 code units, little-endian. Unlike in UTF-8, different lone surrogates stay different. */
function unitsOf(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length * 2);
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    bytes[2 * i] = unit & 0xff;
    bytes[2 * i + 1] = unit >> 8;
  }
  return bytes;
}
