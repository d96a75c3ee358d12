/**
 * Makes the name of a Redis key from limiter, code and key. No two counts have the same name, and no user's key can
 * contain a hash tag.
 */

import { hmac } from '@noble/hashes/hmac';
import { sha256 } from '@noble/hashes/sha2';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils';
import { SpillwayError } from '@spillway/core';
import { encodeName } from '@spillway/core/store';
import { DEFAULT_PREFIX } from './prefix.js';

/**
 * Makes the name of the count of one key, under one limiter and code (see `countOf`: lower-case letters, digits and
 * dots, and perhaps `:` and an id, of which the name has a hash).
 */
export type KeyNamer = (limiter: string, key: string, code: string) => string;

/**
 * Names are the prefix and `1{key}limiter}code`, where 1 is the version of the stored format. With a secret, the HMAC
 * of a key replaces the key.
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
 * Makes the text that is stored in place of a key.
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

/** The UTF-16 units, low byte first. Unlike UTF-8, this keeps surrogates that stand alone apart. */
function unitsOf(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length * 2);
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    bytes[2 * i] = unit & 0xff;
    bytes[2 * i + 1] = unit >> 8;
  }
  return bytes;
}
