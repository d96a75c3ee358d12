/**
 * Seals (encrypts) keys with a secret, so that logs and Redis do not show them, and reveals them with the same secret.
 * The same key and secret always give the same text, so the text identifies the caller in every process.
 *
 * The text is `#` and the base64url of a tag and the encrypted key. The tag is an HMAC-SHA-256 of the key, cut to 96
 * bits. The key is encrypted with a stream of HMACs of the tag (the construction of SIV, RFC 5297).
 */

import { base64url } from '../../base/bytes-text.js';
import { hmacWith } from '../../base/sha256.js';
import { utf8Bytes, utf8Text } from '../../base/utf8.js';

declare function atob(base64: string): string;

const TAG = 12;
/** Domain separation: other uses of the same secret give other HMACs. */
const PURPOSE = /* @__PURE__ */ utf8Bytes('spillway caller');

/** Maximum number of cached keys. Caching pays, because a process publishes mostly the same callers every second. */
const REMEMBERED = 5_000;

/** Seals and reveals keys with one secret. */
export class CallerSeal {
  private readonly hmac: (...text: readonly Uint8Array[]) => Uint8Array;
  private readonly sealed = new Map<string, string>();

  constructor(secret: string) {
    this.hmac = hmacWith(hmacWith(utf8Bytes(secret))(PURPOSE));
  }

  seal(key: string): string {
    const known = this.sealed.get(key);
    if (known !== undefined) return known;
    if (this.sealed.size >= REMEMBERED) this.sealed.clear();
    const text = this.newlySealed(key);
    this.sealed.set(key, text);
    return text;
  }

  /** The key; undefined if the text is not sealed, or was sealed with another secret. */
  reveal(text: string): string | undefined {
    const bytes = bytesOf(text);
    if (bytes === undefined || bytes.length < TAG) return undefined;
    const tag = bytes.subarray(0, TAG);
    const plain = this.xor(tag, bytes.subarray(TAG));
    return this.tagOf(plain).every((byte, at) => byte === tag[at]) ? utf8Text(plain) : undefined;
  }

  private newlySealed(key: string): string {
    const plain = utf8Bytes(key);
    const tag = this.tagOf(plain);
    const bytes = new Uint8Array(TAG + plain.length);
    bytes.set(tag);
    bytes.set(this.xor(tag, plain), TAG);
    return `#${base64url(bytes)}`;
  }

  private tagOf(plain: Uint8Array): Uint8Array {
    return this.hmac(Uint8Array.of(0), plain).subarray(0, TAG);
  }

  private xor(tag: Uint8Array, bytes: Uint8Array): Uint8Array {
    const mixed = bytes.slice();
    for (let from = 0; from < mixed.length; from += 32) {
      const block = this.hmac(Uint8Array.of(1, from >> 13, from >> 5), tag);
      for (let i = 0; i < 32 && from + i < mixed.length; i += 1) {
        mixed[from + i] = (mixed[from + i] as number) ^ (block[i] as number);
      }
    }
    return mixed;
  }
}

function bytesOf(text: string): Uint8Array | undefined {
  if (!text.startsWith('#')) return undefined;
  try {
    const binary = atob(text.slice(1).replaceAll('-', '+').replaceAll('_', '/'));
    return Uint8Array.from(binary, (unit) => unit.charCodeAt(0));
  } catch {
    return undefined;
  }
}
