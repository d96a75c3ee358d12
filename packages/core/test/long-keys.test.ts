/** The longest key: longer ones are rejected as keys, because encoding them would take milliseconds. */

import { concurrencyLimit, createLimiter, rateLimit } from '@spillway/core';
import { describe, expect, it } from 'vitest';
import { setUp, two } from './guard-set-up.js';

const longest = 'k'.repeat(8_192);
const tooLong = `${longest}k`;
const refusal = { code: 'SPW_KEY_INVALID', message: expect.stringContaining('got 8193') };

describe('a key of more than 8,192 units', () => {
  it.each<[string, (limiter: ReturnType<typeof createLimiter>, key: string) => unknown]>([
    ['consume', (limiter, key) => limiter.consume(key)],
    ['peek', (limiter, key) => limiter.peek(key)],
    ['reset', (limiter, key) => limiter.reset(key)],
    ['consumeAll', (limiter, key) => limiter.consumeAll(['ada', key])],
    ['record', (limiter, key) => limiter.record(key)],
  ])('throws in %s, one of 8,192 does not', (_, use) => {
    const limiter = createLimiter(two);
    expect(() => use(limiter, tooLong)).toThrow(expect.objectContaining(refusal));
    // None of several keys was charged, because one of them is too long.
    expect(limiter.peek('ada').remaining).toBe(2);
    expect(() => use(limiter, longest)).not.toThrow();
  });

  it('throws as an option', () => {
    expect(() => rateLimit({ ...two, key: tooLong })).toThrow(expect.objectContaining(refusal));
    expect(() => concurrencyLimit({ limit: 1, key: tooLong })).toThrow(/SPW_KEY_INVALID/);
  });

  it('from a key function counts the address in a guard, with a fault, and frees nobody', () => {
    let i = 0;
    const key = () => `${tooLong}${i++}`;
    const { admit, faults } = setUp([
      rateLimit({ ...two, key }),
      concurrencyLimit({ name: 'now', limit: 9, key }),
    ]);
    expect([admit(), admit(), admit()].map(({ allowed }) => allowed)).toEqual([true, true, false]);
    expect(admit({ clientIp: '203.0.113.8' }).allowed).toBe(true);
    expect(faults[0]).toMatchObject({
      limiter: 'two',
      source: 'key',
      error: { message: 'key of limiter "two" returned a string of length 8194' },
    });
  });

  it('as an address is an address that nobody can tell', () => {
    const { admit } = setUp(rateLimit(two));
    const addresses = ['a', 'b', 'c'].map((digit) => digit.repeat(9_000));
    const allowed = addresses.map((clientIp) => admit({ clientIp }).allowed);
    expect(allowed).toEqual([true, true, false]);
  });
});
