import { newDigest } from '../base/sha256.js';
import type { Step } from '../contract/store.js';

export const MAX_ITEMS_PER_STEP = 100;

export const UNKNOWN: unique symbol = Symbol('unknown');

/** Longer lists are rejected unread, even if many of their entries are equal. */
const MAX_ENTRIES = 10_000;

const PIECE = 2 ** 15;

/**
 * The fingerprints of distinct items, in hexadecimal. Returns at most 101, one more than can pass. Null and undefined
 * are no items. All other values except strings, numbers and bigints are one item, so a client can't avoid or exhaust
 * the limit with them.
 *
 * @param step its limiter and key are hashed too, because keys share a count in a full memory store
 * @param junk called with the first value of an invalid type
 */
export function fingerprintsOf(
  given: unknown,
  { limiter, key }: Pick<Step, 'limiter' | 'key'>,
  junk: (value: unknown) => void,
): string[] {
  const owner = `${limiter.length} ${key.length} ${limiter}${key}`;
  const fingerprint = (text: string) => fingerprintOf(owner + text);
  const texts = new Set<string>();
  const entries = Array.isArray(given) ? given : [given];
  if (entries.length > MAX_ENTRIES) {
    return Array.from({ length: MAX_ITEMS_PER_STEP + 1 }, (_, i) => fingerprint(`${i}`));
  }
  for (const item of entries) {
    if (item === undefined || item === null) continue;
    const kind = KINDS[typeof item];
    const text = kind ? `${kind}${item}` : '?';
    if (!kind && !texts.has(text)) junk(item === UNKNOWN ? undefined : item);
    texts.add(text);
    if (texts.size > MAX_ITEMS_PER_STEP) break;
  }
  return [...texts].map(fingerprint);
}

const KINDS: Readonly<Partial<Record<string, string>>> = { string: 's', number: 'n', bigint: 'i' };

/** Hashes the UTF-16 units, low byte first. UTF-8 would make all lone surrogates equal. */
function fingerprintOf(text: string): string {
  const digest = newDigest();
  for (let from = 0; from < text.length; from += PIECE) {
    const piece = text.slice(from, from + PIECE);
    const bytes = new Uint8Array(2 * piece.length);
    for (let i = 0; i < piece.length; i += 1) {
      const unit = piece.charCodeAt(i);
      bytes[2 * i] = unit;
      bytes[2 * i + 1] = unit >> 8;
    }
    digest.update(bytes);
  }
  const hex = (byte: number) => byte.toString(16).padStart(2, '0');
  return Array.from(digest.digest().subarray(0, 16), hex).join('');
}
