/** The parts of idempotency keys that only calculate, tested through their users: digests that must never change. */

import { createHash } from 'node:crypto';
import { seeded } from 'spillway-testkit';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { base64url } from '../../src/base/bytes-text.js';
import { newDigest } from '../../src/base/sha256.js';
import { noteIn, noteText } from '../../src/once/claim-note.js';
import { keyIn } from '../../src/once/idempotency-key.js';
import { valueDigest } from '../../src/once/request-fingerprint.js';
import { stableDigest } from '../../src/once/stable-digest.js';
import { decodeRecord, encodeRecord, ResponseCollector } from '../../src/once/stored-response.js';

const random = seeded(17);
const integer = (below: number): number => Math.floor(random.uniform() * below);
const bytes = (length: number): Uint8Array => Uint8Array.from({ length }, () => integer(256));

const withMembers = (
  count: number,
  name: (at: number) => string,
  value: () => unknown = () => 1,
): object => Object.fromEntries(Array.from({ length: count }, (_, at) => [name(at), value()]));

/** A digest that is made if the host has none. */
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
    { isStored: true, head, body: { kind: 'r', digest: 'd'.repeat(22) }, length: '17' },
    { isStored: false, head, body: undefined, length: '' },
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
    const answer = new ResponseCollector();
    const buffer = Uint8Array.of(1, 2);
    answer.beginAnswer(200, [], 10);
    answer.addChunk(buffer);
    buffer.fill(9);
    answer.addChunk(buffer);
    expect(answer.toRecord()?.body).toEqual(Uint8Array.of(1, 2, 9, 9));
  });
});

describe('the digest of a value', () => {
  const digestOf = async (value: unknown) => (await valueDigest(value)).digest;

  it('does not depend on the order of members', async () => {
    const one = { a: 1, b: [{ x: 1, y: undefined }], c: new Date(0), d: new Uint8Array([1, 2]) };
    const other = { d: new Uint8Array([1, 2]), c: new Date(0), b: [{ x: 1 }], a: 1 };
    expect(await digestOf(one)).toBe(await digestOf(other));
    expect(await digestOf(one)).toMatch(/^[\w-]{22}$/);
  });

  it('does not depend on the order of members where they are many', async () => {
    const names = Array.from({ length: 20_000 }, (_, at) => `k${(at * 7_919) % 20_000}`);
    const one = Object.fromEntries(names.map((name) => [name, 1]));
    const other = Object.fromEntries(names.toSorted().map((name) => [name, 1]));
    expect(await digestOf(one)).toBe(await digestOf(other));
    expect(await digestOf({ ...one, k7: 2 })).not.toBe(await digestOf(one));
    const { k7: _, ...fewer } = one;
    expect(await digestOf(fewer)).not.toBe(await digestOf(one));
  });

  it('tells other values apart', async () => {
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
      [new Uint8Array([1]), new Uint8Array([2])],
      [new Uint8Array([1]), 2],
      { a: 1 },
      { a: '1' },
      { a: { b: 1 } },
      { 'a":{"b': 1 },
      [[]],
      true,
      'true',
      Number.NaN,
      Infinity,
      '\ud800',
      '\ufffd',
      'x'.repeat(100_000),
      ['x'.repeat(50_000), 'x'.repeat(50_000)],
      new ArrayBuffer(1),
      new Uint8Array([7]).buffer,
      new DataView(new Uint8Array([8]).buffer),
      new Map([['a', 1]]),
      new Map([['a', 2]]),
      new URLSearchParams('a=1'),
      new URLSearchParams('a=2'),
      new Headers({ a: '3' }),
      form({ a: '4' }),
      form({ a: '5' }),
    ];
    const digests = await Promise.all(values.map(digestOf));
    expect(digests).not.toContain(undefined);
    expect(new Set(digests).size).toBe(values.length);
  });

  it.each([
    ['an error', new Error('one')],
    ['a blob', new Blob(['one'])],
    ['a form with a file', form({ file: new Blob(['one']) })],
    ['a promise', { a: Promise.resolve(1) }],
    ['a symbol', Symbol('one')],
    ['a function', () => 1],
  ])('is none for what shows nothing to compare: %s', async (_, value) => {
    expect(await valueDigest(value)).toEqual({});
  });

  const self: Record<string, unknown> = {};
  self['self'] = self;
  const getter = {
    get amount() {
      throw new Error('not now');
    },
  };
  function* endless() {
    for (;;) yield 'x'.repeat(10_000);
  }
  it.each([
    ['contains itself', self, RangeError],
    ['never ends', endless(), RangeError],
    ['has a getter that throws', getter, Error],
    [
      'throws what is no error',
      {
        toJSON: () => {
          throw 'no';
        },
      },
      TypeError,
    ],
  ])('says why there is none for a value that %s', async (_, value, kind) => {
    const { digest, error } = await valueDigest(value);
    expect(digest).toBeUndefined();
    expect(error).toBeInstanceOf(kind);
  });

  it.each([3_000, 1_000_000])('is that of the whole value, %i levels deep', async (levels) => {
    const nested = (inner: string) =>
      JSON.parse(`${'['.repeat(levels)}${inner}${']'.repeat(levels)}`);
    const [one, same, other] = await Promise.all(['5', '5', '9'].map((at) => digestOf(nested(at))));
    expect([one, one === same, one === other]).toEqual([expect.any(String), true, false]);
  });

  it.each([
    ['bytes', () => new Uint8Array(10_000_000)],
    ['a text', () => 'x'.repeat(10_000_000)],
    ['a list', () => Array.from({ length: 1_000_000 }, (_, at) => at)],
    ['many objects', () => Array.from({ length: 200_000 }, (_, a) => ({ a, b: 'x' }))],
    [
      'members',
      () => Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`k${at}`, at])),
    ],
  ])('gives the event loop its turns while it is made of 10 MB: %s', async (_, make) => {
    const value = make();
    let turns = 0;
    let isDone = false;
    const count = () => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    await valueDigest(value);
    isDone = true;
    expect(turns).toBeGreaterThan(10);
  });

  it.each<[string, () => unknown]>([
    ['one object', () => withMembers(200_000, (at) => `k${(at * 7_919) % 1_000_003}`)],
    ['one object, its names in falling order', () => withMembers(200_000, (at) => `m${-at}`)],
    ['one object with numbers as names', () => withMembers(200_000, (at) => `${at * 3}`)],
    ['objects in a list', () => Array.from({ length: 100_000 }, (_, a) => ({ a, b: 'x' }))],
    [
      'objects in objects',
      () =>
        withMembers(
          300,
          (at) => `k${at}`,
          () => withMembers(300, (at) => `k${at}`),
        ),
    ],
  ])('is made in slices, of %s as of bytes', (_, make) => {
    const value = make();
    const slices = (given: unknown): number => [...stableDigest(given)].length;
    const bytesOfJson = new TextEncoder().encode(JSON.stringify(value));
    expect(slices(value)).toBeGreaterThanOrEqual(slices(bytesOfJson));
  });

  it('costs little more than the SHA-256 of the same bytes', async () => {
    const all = bytes(100_000);
    const body = new Uint8Array(10_000_000).map((_, at) => all[at % 100_000] as number);
    const cpuOf = async (work: () => unknown) => {
      const before = process.cpuUsage();
      await work();
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const ratios: number[] = [];
    for (let round = 0; round < 7; round += 1) {
      const plain = await cpuOf(() => createHash('sha256').update(body).digest());
      ratios.push((await cpuOf(() => valueDigest(body))) / plain);
    }
    expect(ratios.sort((a, b) => a - b)[3]).toBeLessThan(2);
  });
});
