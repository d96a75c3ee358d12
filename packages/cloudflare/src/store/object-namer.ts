/** The name of the object that keeps a key. */

import { hmac } from '@noble/hashes/hmac';
import { sha256 } from '@noble/hashes/sha2';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils';
import { encodeName } from '@spillway/core/store';

/** Bytes of the digest in a name: enough that nobody can find two keys with the same name. */
const BYTES = 16;

/**
 * Names objects by digests of keys: HMAC-SHA-256 if there is a secret, otherwise SHA-256. Keys never leave the Worker.
 */
export function objectNamer(secret?: string | Uint8Array): (key: string) => string {
  const bytes = typeof secret === 'string' ? utf8ToBytes(secret) : secret?.slice();
  const digest = bytes ? (text: Uint8Array) => hmac(sha256, bytes, text) : sha256;
  // `encodeName` escapes lone surrogates. UTF-8 would encode all of them as the same character.
  return (key) => bytesToHex(digest(utf8ToBytes(encodeName('', key, ''))).subarray(0, BYTES));
}
