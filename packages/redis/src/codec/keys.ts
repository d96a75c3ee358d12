/**
 * Makes the name of a Redis key from limiter, code and key. No two counts have the same name, and no user's key can
 * contain a hash tag.
 */

import { hmac } from '@noble/hashes/hmac';
import { sha256 } from '@noble/hashes/sha2';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils';
import { SpillwayError } from '@spillway/core';
import { DEFAULT_PREFIX } from './prefix.js';

/** Longer keys, in UTF-16 units, are hashed. */
const LONGEST = 256;

/** Text that can be stored unchanged: none of our own marks, no surrogates (one may be alone), not empty. */
const PLAIN = /^[^{}%#\ud800-\udfff]+$/;
const SPECIAL = /[{}%]|^#|\p{Surrogate}/gu;

/**
 * Makes the name of the count of one key, under one limiter and code (see `countOf`; lower-case letters, digits and
 * dots).
 */
export type KeyNamer = (limiter: string, key: string, code: string) => string;

/**
 * Names are `prefix{key}limiter}code`. With a secret, the HMAC of a key replaces the key.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
export function keyNamer(secret?: string | Uint8Array, prefix: string = DEFAULT_PREFIX): KeyNamer {
  if (secret === undefined) {
    return (limiter, key, code) => `${prefix}{${encodeText(key)}}${encodeText(limiter)}}${code}`;
  }
  const hashed = keyHasher(secret);
  return (limiter, key, code) => `${prefix}{${hashed(key)}}${encodeText(limiter)}}${code}`;
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

/** Different texts give different results. The result has no braces and is never empty. */
function encodeText(text: string): string {
  if (text.length > LONGEST) return `#${bytesToHex(sha256(unitsOf(text)))}`;
  if (PLAIN.test(text)) return text;
  // After a '%' comes '-' here, or the four hex digits of a unit below, and nothing else.
  return text === '' ? '%-' : text.replace(SPECIAL, escapeUnit);
}

function escapeUnit(unit: string): string {
  return `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
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
