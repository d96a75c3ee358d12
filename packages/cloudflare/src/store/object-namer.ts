/** The name of the object that keeps a key. */

import { hmac } from '@noble/hashes/hmac';
import { sha256 } from '@noble/hashes/sha2';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils';
import { encodeName } from '@spillway/core/store';

/** Of the digest: so many bytes that nobody can find a second key with the same name. */
const BYTES = 16;

/**
 * Makes the names of objects: digests of keys, SHA-256 without a secret, HMAC-SHA-256 with one. So no key, whatever is
 * in it, leaves the Worker.
 */
export function objectNamer(secret?: string | Uint8Array): (key: string) => string {
  const bytes = typeof secret === 'string' ? utf8ToBytes(secret) : secret?.slice();
  const digest = bytes ? (text: Uint8Array) => hmac(sha256, bytes, text) : sha256;
  // As text that is valid Unicode: in UTF-8 alone, all surrogates that stand alone would be one.
  return (key) => bytesToHex(digest(utf8ToBytes(encodeName('', key, ''))).subarray(0, BYTES));
}
