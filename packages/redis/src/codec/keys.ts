/**
 * Builds Redis key names from a limiter, a key, and the code that names a kind of count. Names are unique for each
 * count, and a user's key cannot inject a hash tag.
 */

import { hmac } from '@noble/hashes/hmac';
import { sha256 } from '@noble/hashes/sha2';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils';
import { SpillwayError } from '@spillway/core';
import { encodeName } from '@spillway/core/store';
import { DEFAULT_PREFIX } from './prefix.js';

/**
 * Returns the key name of one count. `code` is from `countOf`: lower-case letters, digits and dots, and optionally `:`
 * and an id, which is hashed in the name.
 */
export type KeyNamer = (limiter: string, key: string, code: string) => string;

/**
 * Returns a function that builds key names. A name is the prefix and `1{key}limiter}code`, where 1 is the version of
 * the stored format. With a secret, the HMAC of the key replaces the key.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
export function keyNamer(secret?: string | Uint8Array, prefix: string = DEFAULT_PREFIX): KeyNamer {
  const hide = secret === undefined ? undefined : keyHasher(secret);
  const options = { hash, hide };
  return (limiter, key, code) => prefix + encodeName(limiter, key, code, options);
}

function hash(text: string): string {
  return bytesToHex(sha256(unitsOf(text)));
}

/**
 * Returns a function that hashes keys for storage.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
export function keyHasher(secret: string | Uint8Array): (key: string) => string {
  if (secret.length === 0) {
    throw new SpillwayError('SPW_OPTION_INVALID', 'hashKeys must be a secret, got an empty one');
  }
  const secretBytes = typeof secret === 'string' ? utf8ToBytes(secret) : secret.slice();
  return (key) => `#${bytesToHex(hmac(sha256, secretBytes, unitsOf(key)))}`;
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
