import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeText, keyNamer } from '../src/keys.js';

/** What Redis Cluster hashes: the text between the first brace and the next closing one. */
function hashTag(name: string): string {
  return /\{([^}]+)\}/.exec(name)?.[1] ?? name;
}

const hostile = fc.oneof(
  fc.string({ unit: fc.constantFrom('{', '}', '%', '#', '-', '0', 'a', '\ud800', '\udc00', '\0') }),
  fc.string({ unit: 'binary' }),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
  fc.constantFrom('', 'a'.repeat(256), 'a'.repeat(257), `#${'0'.repeat(64)}`),
);

describe('the name of a key', () => {
  const nameOf = keyNamer();

  it('is readable where it can be', () => {
    expect(nameOf('login', 'ada@example.com')).toBe('spw:{ada@example.com}login');
    expect(nameOf('per ip', '2001:db8::/64')).toBe('spw:{2001:db8::/64}per ip');
    expect(nameOf('a', 'café 🚰')).toBe('spw:{café 🚰}a');
  });

  it('escapes what is ours', () => {
    expect(nameOf('a}b', '{x')).toBe('spw:{%007bx}a%007db');
    expect(nameOf('', '')).toBe('spw:{%-}%-');
    expect(nameOf('a', '#50%')).toBe('spw:{%002350%0025}a');
    expect(nameOf('a', '\ud83d')).toBe('spw:{%d83d}a');
  });

  it('holds a hash instead of a key longer than 256 units', () => {
    expect(nameOf('a', 'k'.repeat(256))).toBe(`spw:{${'k'.repeat(256)}}a`);
    expect(nameOf('a', 'k'.repeat(257))).toMatch(/^spw:\{#[0-9a-f]{64}\}a$/);
    expect(nameOf('a', 'k'.repeat(257))).not.toBe(nameOf('a', 'k'.repeat(258)));
    // SHA-256 of the UTF-16 units, low byte first.
    const hash = createHash('sha256').update('é'.repeat(257), 'utf16le').digest('hex');
    expect(encodeText('é'.repeat(257))).toBe(`#${hash}`);
  });

  it('is another for every other limiter and key, in any UTF-8 encoder', () => {
    const bytes = (text: string) => new TextEncoder().encode(text).join();
    fc.assert(
      fc.property(fc.tuple(hostile, hostile), fc.tuple(hostile, hostile), (a, b) => {
        const same = a[0] === b[0] && a[1] === b[1];
        return (bytes(nameOf(...a)) === bytes(nameOf(...b))) === same;
      }),
      { seed: 20_260_101, numRuns: 5000 },
    );
  });

  it('has one hash tag, which is the same for all limiters of a key and for no other key', () => {
    fc.assert(
      fc.property(hostile, hostile, hostile, hostile, (one, other, key, stranger) => {
        const tag = hashTag(nameOf(one, key));
        expect(tag).toBe(encodeText(key));
        expect(hashTag(nameOf(other, key))).toBe(tag);
        if (stranger !== key) expect(hashTag(nameOf(one, stranger))).not.toBe(tag);
        expect(nameOf(one, key).match(/[{}]/g)).toHaveLength(2);
      }),
      { seed: 20_260_101, numRuns: 2000 },
    );
  });

  it('hides every key behind a secret, if there is one', () => {
    const secret = keyNamer('s3cret');
    expect(secret('login', 'ada')).toMatch(/^spw:\{#[0-9a-f]{64}\}login$/);
    expect(secret('login', 'ada')).toBe(
      keyNamer(new TextEncoder().encode('s3cret'))('login', 'ada'),
    );
    expect(secret('login', 'ada')).not.toBe(secret('login', 'bob'));
    expect(secret('login', 'ada')).not.toBe(keyNamer('other')('login', 'ada'));
    expect(secret('login', '\ud800')).not.toBe(secret('login', '\ud801'));
    expect(() => keyNamer('')).toThrow('SPW_OPTION_INVALID');
  });
});

describe('the longest key that a limiter takes', () => {
  it('is named in far less than a millisecond', () => {
    for (const nameOf of [keyNamer(), keyNamer('a secret')]) {
      const tookMs = Array.from({ length: 101 }, (_, i) => {
        const key = `${i}`.padEnd(8_192, 'k');
        const startMs = performance.now();
        nameOf('api', key);
        return performance.now() - startMs;
      });
      // Measured: 0.14 ms. The bound is for a machine with much else to do.
      expect(tookMs.sort((a, b) => a - b)[50]).toBeLessThan(2);
    }
  });
});
