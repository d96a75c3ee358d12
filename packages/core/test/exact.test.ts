import { mulDiv } from '@spillway/core/store';
import { describe, expect, it } from 'vitest';
import { mulAddDiv, productAtMost } from '../src/base/exact.js';

/** A small seeded generator (mulberry32): whole numbers of up to `bits` bits. */
function generator(seed: number): (bits: number) => number {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return (bits) => Math.floor(next() * 2 ** Math.ceil(next() * bits));
}

describe('exact arithmetic', () => {
  it('agrees with BigInt, below and beyond 2^53', () => {
    const random = generator(1);
    for (let i = 0; i < 20_000; i += 1) {
      const [a, b, c, d] = [random(45), random(45), random(45), random(45) + 1];
      const product = BigInt(a) * BigInt(b);
      const whole = product / BigInt(d);
      if (whole <= BigInt(Number.MAX_SAFE_INTEGER)) {
        expect(mulDiv(a, b, d)).toEqual({
          whole: Number(whole),
          rest: Number(product % BigInt(d)),
        });
        expect(mulAddDiv(a, b, c, d)).toBe(Number((product + BigInt(c)) / BigInt(d)));
      } else {
        expect(mulDiv(a, b, d)).toEqual({ whole: Number.MAX_SAFE_INTEGER, rest: 0 });
      }
      expect(productAtMost(a, b, c, d)).toBe(product <= BigInt(c) * BigInt(d));
    }
  });
});
