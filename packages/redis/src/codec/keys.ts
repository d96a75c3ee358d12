/**
 * From limiter, code and key to the name of a Redis key: no two counts share one, and nobody but us writes a hash tag.
 */

import { hmac } from '@noble/hashes/hmac';
import { sha256 } from '@noble/hashes/sha2';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils';
import { SpillwayError } from '@spillway/core';

/** Longer ones, in UTF-16 units, are hashed. */
const LONGEST = 256;

/** What can stand as it is: none of our own marks, no surrogates (which may be alone), not empty. */
const PLAIN = /^[^{}%#\ud800-\udfff]+$/;
const SPECIAL = /[{}%]|^#|\p{Surrogate}/gu;

/** The name of the count of one key under one limiter and code (see `countOf`): lower-case letters, digits and dots. */
export type KeyNamer = (limiter: string, key: string, code: string) => string;

/**
 * Names are `spw:{key}limiter}code`. With a secret, every key is an HMAC of itself.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
export function keyNamer(secret?: string | Uint8Array): KeyNamer {
  if (secret === undefined) {
    return (limiter, key, code) => `spw:{${encodeText(key)}}${encodeText(limiter)}}${code}`;
  }
  const hashed = keyHasher(secret);
  return (limiter, key, code) => `spw:{${hashed(key)}}${encodeText(limiter)}}${code}`;
}

/**
 * What stands for a key where it must not be stored.
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

/** Injective, free of braces, and never empty. */
function encodeText(text: string): string {
  if (text.length > LONGEST) return `#${bytesToHex(sha256(unitsOf(text)))}`;
  if (PLAIN.test(text)) return text;
  // A '%' is followed by '-' here and by a unit's four hex digits below, and by nothing else.
  return text === '' ? '%-' : text.replace(SPECIAL, escapeUnit);
}

function escapeUnit(unit: string): string {
  return `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** The UTF-16 units, low byte first: unlike UTF-8, it keeps lone surrogates apart. */
function unitsOf(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length * 2);
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    bytes[2 * i] = unit & 0xff;
    bytes[2 * i + 1] = unit >> 8;
  }
  return bytes;
}
