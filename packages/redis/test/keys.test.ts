import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keyNamer } from '../src/codec/keys.js';

/** The part of a name that Redis Cluster hashes: the text between the first opening brace and the next closing one. */
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
    expect(nameOf('login', 'ada@example.com', 'zik0zj')).toBe('spw:1{ada@example.com}login}zik0zj');
    expect(nameOf('per ip', '2001:db8::/64', 'p')).toBe('spw:1{2001:db8::/64}per ip}p');
    expect(nameOf('a', 'café 🚰', 'p')).toBe('spw:1{café 🚰}a}p');
  });

  it('escapes what is ours', () => {
    expect(nameOf('a}b', '{x', 'p')).toBe('spw:1{%007bx}a%007db}p');
    expect(nameOf('', '', 'p')).toBe('spw:1{%-}%-}p');
    expect(nameOf('a', '#50%', 'p')).toBe('spw:1{%002350%0025}a}p');
    expect(nameOf('a', '\ud83d', 'p')).toBe('spw:1{%d83d}a}p');
  });

  it('holds a hash instead of a key longer than 256 units', () => {
    expect(nameOf('a', 'k'.repeat(256), 'p')).toBe(`spw:1{${'k'.repeat(256)}}a}p`);
    expect(nameOf('a', 'k'.repeat(257), 'p')).toMatch(/^spw:1\{#[0-9a-f]{64}\}a\}p$/);
    expect(nameOf('a', 'k'.repeat(257), 'p')).not.toBe(nameOf('a', 'k'.repeat(258), 'p'));
    // SHA-256 of the UTF-16 units, low byte first.
    const hash = createHash('sha256').update('é'.repeat(257), 'utf16le').digest('hex');
    expect(nameOf('a', 'é'.repeat(257), 'p')).toBe(`spw:1{#${hash}}a}p`);
  });

  it('is another for every other limiter, key and code, in any UTF-8 encoder', () => {
    const bytes = (text: string) => new TextEncoder().encode(text).join();
    const code = fc.constantFrom('p', 'b1', 'b1.0.7', 'f1', 'l1');
    const count = fc.tuple(hostile, hostile, code);
    fc.assert(
      fc.property(count, count, (a, b) => {
        const same = a.every((part, i) => part === b[i]);
        return (bytes(nameOf(...a)) === bytes(nameOf(...b))) === same;
      }),
      { seed: 20_260_101, numRuns: 5000 },
    );
  });

  it('has one hash tag, which is the same for all limiters of a key and for no other key', () => {
    fc.assert(
      fc.property(hostile, hostile, hostile, hostile, (one, other, key, stranger) => {
        const tag = hashTag(nameOf(one, key, 'p'));
        expect(nameOf(one, key, 'p').startsWith(`spw:1{${tag}}`)).toBe(true);
        expect(hashTag(nameOf(other, key, 'b1'))).toBe(tag);
        if (stranger !== key) expect(hashTag(nameOf(one, stranger, 'p'))).not.toBe(tag);
        expect(nameOf(one, key, 'p').match(/[{}]/g)).toHaveLength(3);
      }),
      { seed: 20_260_101, numRuns: 2000 },
    );
  });

  it('has a hash of the id of a claim or of a value, whatever is in it', () => {
    const codes = ['c', 'v'].flatMap((letter) =>
      ['a', 'b', '', '#a', ':', '}'].map((id) => `${letter}:${id}`),
    );
    const all = codes.map((code) => nameOf('once', 'ada', code));
    for (const name of all) expect(name).toMatch(/^spw:1\{ada\}once\}[cv]#[0-9a-f]{64}$/);
    expect(new Set(all).size).toBe(codes.length);
    expect(keyNamer('s3cret')('once', 'ada', 'c:a')).not.toContain(
      nameOf('', '', 'c:a').slice(-64),
    );
  });

  it('hides every key behind a secret, if there is one', () => {
    const secret = keyNamer('s3cret');
    expect(secret('login', 'ada', 'p')).toMatch(/^spw:1\{#[0-9a-f]{64}\}login\}p$/);
    expect(secret('login', 'ada', 'p')).toBe(
      keyNamer(new TextEncoder().encode('s3cret'))('login', 'ada', 'p'),
    );
    expect(secret('login', 'ada', 'p')).not.toBe(secret('login', 'bob', 'p'));
    expect(secret('login', 'ada', 'p')).not.toBe(keyNamer('other')('login', 'ada', 'p'));
    expect(secret('login', '\ud800', 'p')).not.toBe(secret('login', '\ud801', 'p'));
    expect(() => keyNamer('')).toThrow('SPW_OPTION_INVALID');
  });
});

describe('the longest key that a limiter takes', () => {
  it('is named in a time that grows with its length only', () => {
    for (const nameOf of [keyNamer(), keyNamer('a secret')]) {
      const tookMs = Array.from({ length: 101 }, (_, i) => {
        const key = `${i}`.padEnd(8_192, 'k');
        const startMs = performance.now();
        nameOf('api', key, 'p');
        return performance.now() - startMs;
      });
      // 0.14 ms when measured. The limit allows for a busy machine; quadratic code would still exceed it.
      expect(tookMs.sort((a, b) => a - b)[50]).toBeLessThan(20);
    }
  });
});
