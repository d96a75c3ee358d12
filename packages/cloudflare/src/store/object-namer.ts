import { hexOf, hmacWith, sha256, utf8Bytes } from '@spillway/core/direct';
import { encodeName } from '@spillway/core/store';

/** With 16 bytes, finding two keys with the same digest takes about 2^64 hashes. */
const BYTES = 16;

/** Names the object of a key by a digest of the key: HMAC-SHA-256 if there is a secret, otherwise SHA-256. */
export function objectNamer(secret?: string | Uint8Array): (key: string) => string {
  const bytes = typeof secret === 'string' ? utf8Bytes(secret) : secret;
  const digest = bytes ? hmacWith(bytes) : sha256;
  // `encodeName` escapes lone surrogates, all of which UTF-8 would encode as the same character.
  return (key) => hexOf(digest(utf8Bytes(encodeName('', key, ''))).subarray(0, BYTES));
}
