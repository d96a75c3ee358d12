/**
 * Fingerprints are 64-bit hashes of strings such as keys, stored in place of the strings.
 *
 * They are computed by HalfSipHash-1-3 (J.-P. Aumasson and D. J. Bernstein) over UTF-16 code units. Seeds for keys in
 * memory are random in each process, so clients can't construct collisions. If a million keys are tracked at once, two
 * of them share a count with a probability of 3 in 10^8.
 */

declare const crypto: { getRandomValues(array: Int32Array): Int32Array };

export interface Fingerprint {
  readonly lo: number;
  readonly hi: number;
}

/** Returns a random seed. Call it on first use, because some runtimes don't allow random values at import. */
export function randomSeed(): Fingerprint {
  const words = crypto.getRandomValues(new Int32Array(2));
  return { lo: words[0] as number, hi: words[1] as number };
}

export function fingerprint(text: string, seed: Fingerprint): Fingerprint {
  const { length } = text;
  let v0 = seed.lo | 0;
  let v1 = seed.hi ^ 0xee;
  let v2 = seed.lo ^ 0x6c796765;
  let v3 = seed.hi ^ 0x74656462;
  let lo = 0;

  // Each word has two code units. The last word has the length and, if the length is odd, the last code unit. Two
  // finalization passes follow.
  const words = (length >> 1) + 1;
  for (let step = 0; step < words + 2; step += 1) {
    let word = 0;
    if (step < words - 1) {
      word = text.charCodeAt(2 * step) | (text.charCodeAt(2 * step + 1) << 16);
    } else if (step === words - 1) {
      word = (length << 25) | (length & 1 ? text.charCodeAt(length - 1) : 0);
    } else if (step === words) {
      v2 ^= 0xee;
    } else {
      lo = v1 ^ v3;
      v1 ^= 0xdd;
    }
    v3 ^= word;
    for (let round = step < words ? 1 : 3; round > 0; round -= 1) {
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
    }
    v0 ^= word;
  }
  return { lo, hi: v1 ^ v3 };
}

/** A short text for a long one. The seed is secret, so clients can't find two with the same result. */
export function shortened(text: string, seed: Fingerprint): string {
  const { lo, hi } = fingerprint(text, seed);
  return `\0${lo.toString(16)}.${hi.toString(16)}.${text.length}`;
}

/** A copy of a part of a longer string, such as a header, which most engines would keep in memory. */
export function detached(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}
