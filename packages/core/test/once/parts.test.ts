/** The parts of idempotency keys that only calculate, through what uses them: digests that must never change. */

import { createHash } from 'node:crypto';
import { seeded } from 'spillway-testkit';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { newDigest } from '../../src/base/sha256.js';
import { base64url } from '../../src/once/base64url.js';
import { Collected } from '../../src/once/collected.js';
import { keyIn } from '../../src/once/key.js';
import { noteIn, noteText } from '../../src/once/note.js';
import { decodeRecord, encodeRecord } from '../../src/once/record.js';
import { stableText } from '../../src/once/stable.js';

const random = seeded(17);
const integer = (below: number): number => Math.floor(random.uniform() * below);
const bytes = (length: number): Uint8Array => Uint8Array.from({ length }, () => integer(256));

/** One that is made where the host has none to offer. */
function ownDigest() {
  vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined);
  const digest = newDigest();
  vi.restoreAllMocks();
  return digest;
}

describe('SHA-256', () => {
  afterEach(() => void vi.restoreAllMocks());

  it('is that of Node, however its bytes are cut', () => {
    for (let round = 0; round < 500; round += 1) {
      const all = bytes(integer(round < 250 ? 140 : 3_000));
      const own = ownDigest();
      const host = newDigest();
      for (let from = 0; from < all.length; ) {
        const to = from + 1 + integer(130);
        own.update(all.subarray(from, to));
        host.update(all.subarray(from, to));
        from = to;
      }
      const expected = createHash('sha256').update(all).digest('hex');
      expect(Buffer.from(own.digest()).toString('hex')).toBe(expected);
      expect(Buffer.from(host.digest()).toString('hex')).toBe(expected);
    }
  });

  it('of nothing, and of what the standard shows', () => {
    const hex = (text: string) => {
      const digest = ownDigest();
      digest.update(new TextEncoder().encode(text));
      return Buffer.from(digest.digest()).toString('hex');
    };
    expect(hex('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(hex('a'.repeat(1_000_000))).toBe(
      'cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0',
    );
  });
});

it('base64url is that of Node', () => {
  for (let length = 0; length < 70; length += 1) {
    const some = bytes(length);
    expect(base64url(some)).toBe(Buffer.from(some).toString('base64url'));
  }
});

describe('a record', () => {
  it('comes back as it was', () => {
    for (let round = 0; round < 200; round += 1) {
      const record = {
        status: 200 + integer(400),
        fields: Array.from(
          { length: integer(4) },
          (_, i) => [`F-${i}`, `ä"${integer(9)}`] as const,
        ),
        body: integer(3) === 0 ? undefined : bytes(integer(200)),
      };
      expect(decodeRecord(encodeRecord(record))).toEqual(record);
    }
  });

  it('that is cut, or changed, is none or another: it never throws', () => {
    const whole = encodeRecord({ status: 200, fields: [['A', 'b']], body: bytes(20) });
    for (let length = 0; length < whole.length - 20; length += 1) {
      expect(decodeRecord(whole.subarray(0, length))).toBeUndefined();
    }
    for (let round = 0; round < 2_000; round += 1) {
      const changed = whole.slice();
      changed[integer(changed.length)] = integer(256);
      expect(() => decodeRecord(changed)).not.toThrow();
    }
  });
});

describe('a note', () => {
  const head = 'h'.repeat(22);
  it.each([
    { isKept: true, head, body: { kind: 'r', digest: 'd'.repeat(22) }, length: '17' },
    { isKept: false, head, body: undefined, length: '' },
  ] as const)('comes back as it was: %o', (note) => {
    expect(noteIn(noteText(note))).toEqual(note);
  });

  it.each(['', '2k', `1k ${head}`, `1x ${head} - `, `1k ${head} q${head} 1`])(
    'is none: %j',
    (text) => {
      expect(noteIn(text)).toBeUndefined();
    },
  );
});

describe('a key', () => {
  it('is found in a time that grows with the length only, whatever is sent', () => {
    const started = performance.now();
    for (const text of [
      '"'.repeat(1_000_000),
      `"${'\\'.repeat(1_000_000)}`,
      `"${'\\"'.repeat(1_000_000)}`,
      ' '.repeat(1_000_000),
    ]) {
      expect(keyIn(text)).toBeUndefined();
    }
    expect(performance.now() - started).toBeLessThan(1_000);
    expect(keyIn(`"${'\\"'.repeat(127)}"`)).toBe('"'.repeat(127));
  });
});

function form(values: Readonly<Record<string, string | Blob>>): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(values)) data.set(name, value);
  return data;
}

describe('the bytes of an answer', () => {
  it('are kept as they were written, though the handler uses its buffer again', () => {
    const answer = new Collected();
    const buffer = Uint8Array.of(1, 2);
    answer.begin(200, [], 10);
    answer.add(buffer);
    buffer.fill(9);
    answer.add(buffer);
    expect(answer.record()?.body).toEqual(Uint8Array.of(1, 2, 9, 9));
  });
});

describe('a stable text', () => {
  it('does not depend on the order of members', () => {
    const one = { a: 1, b: [{ x: 1, y: undefined }], c: new Date(0), d: new Uint8Array([1, 2]) };
    const other = { d: new Uint8Array([1, 2]), c: new Date(0), b: [{ x: 1 }], a: 1 };
    expect(stableText(one)).toBe(stableText(other));
  });

  it('tells other values apart', () => {
    const values = [
      null,
      undefined,
      0,
      '0',
      1n,
      '',
      [],
      {},
      [1, 2],
      ['1,2'],
      new Uint8Array([1, 2]),
      { a: 1 },
      { a: '1' },
      { a: { b: 1 } },
      { 'a":{"b': 1 },
      [[]],
      true,
      'true',
      Number.NaN,
      Infinity,
      new ArrayBuffer(1),
      new Uint8Array([7]).buffer,
      new DataView(new Uint8Array([8]).buffer),
      new URLSearchParams('a=1'),
      new URLSearchParams('a=2'),
      new Headers({ a: '3' }),
      form({ a: '4' }),
      form({ a: '5' }),
    ];
    expect(new Set(values.map(stableText)).size).toBe(values.length);
  });

  it.each([
    ['an error', new Error('one')],
    ['a blob', new Blob(['one'])],
    ['a form with a file', form({ file: new Blob(['one']) })],
    ['a promise', { a: Promise.resolve(1) }],
    ['a symbol', Symbol('one')],
    ['a function', () => 1],
  ])('throws for what it cannot tell from others: %s', (_, value) => {
    expect(() => stableText(value)).toThrow(TypeError);
  });

  it('throws for what contains itself', () => {
    const self: Record<string, unknown> = {};
    self.self = self;
    expect(() => stableText(self)).toThrow(RangeError);
  });
});
