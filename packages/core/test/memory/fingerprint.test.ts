import { describe, expect, it } from 'vitest';
import { type Fingerprint, fingerprint } from '../../src/base/fingerprint.js';

/** HalfSipHash with a 64-bit output, byte by byte as its authors wrote it, for any number of rounds. */
function halfSipHash(bytes: readonly number[], key: Fingerprint, perWord: number, atEnd: number) {
  const v = [key.lo, key.hi ^ 0xee, key.lo ^ 0x6c796765, key.hi ^ 0x74656462];
  const rotate = (x: number, n: number) => (x << n) | (x >>> (32 - n));
  const at = (i: number) => v[i] as number;
  const rounds = (count: number) => {
    for (let round = 0; round < count; round += 1) {
      v[0] = (at(0) + at(1)) | 0;
      v[1] = rotate(at(1), 5) ^ at(0);
      v[0] = rotate(at(0), 16);
      v[2] = (at(2) + at(3)) | 0;
      v[3] = rotate(at(3), 8) ^ at(2);
      v[0] = (at(0) + at(3)) | 0;
      v[3] = rotate(at(3), 7) ^ at(0);
      v[2] = (at(2) + at(1)) | 0;
      v[1] = rotate(at(1), 13) ^ at(2);
      v[2] = rotate(at(2), 16);
    }
  };
  const words: number[] = [];
  for (let i = 0; i + 4 <= bytes.length; i += 4) words.push(word(bytes.slice(i, i + 4)));
  const rest = bytes.slice(bytes.length - (bytes.length % 4));
  words.push(word(rest) | (bytes.length << 24));
  for (const m of words) {
    v[3] = at(3) ^ m;
    rounds(perWord);
    v[0] = at(0) ^ m;
  }
  v[2] = at(2) ^ 0xee;
  rounds(atEnd);
  const lo = at(1) ^ at(3);
  v[1] = at(1) ^ 0xdd;
  rounds(atEnd);
  return { lo, hi: at(1) ^ at(3) };
}

function word(bytes: readonly number[]): number {
  return bytes.reduce((sum, byte, index) => sum | (byte << (8 * index)), 0);
}

function hex({ lo, hi }: Fingerprint): string {
  const bytes = [lo, hi].flatMap((half) => [0, 8, 16, 24].map((shift) => (half >>> shift) & 0xff));
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

const KEY = { lo: 0x03020100, hi: 0x07060504 };

describe('fingerprint', () => {
  it('has a reference that gives the published vectors of HalfSipHash-2-4', () => {
    expect(hex(halfSipHash([], KEY, 2, 4))).toBe('218d1f59b9b83cc8');
    expect(hex(halfSipHash([0], KEY, 2, 4))).toBe('be552412f8387315');
  });

  it('is HalfSipHash-1-3 of the code units, low byte first', () => {
    for (let length = 0; length < 40; length += 1) {
      const text = String.fromCharCode(
        ...Array.from({ length }, (_, i) => (i * 7919 + 3) & 0xffff),
      );
      const bytes = [...Array(length).keys()].flatMap((i) => {
        const unit = text.charCodeAt(i);
        return [unit & 0xff, unit >>> 8];
      });
      expect(fingerprint(text, KEY)).toEqual(halfSipHash(bytes, KEY, 1, 3));
    }
  });

  it('depends on the seed', () => {
    const other = { lo: KEY.lo + 1, hi: KEY.hi };
    expect(fingerprint('ada', KEY)).not.toEqual(fingerprint('ada', other));
  });
});
