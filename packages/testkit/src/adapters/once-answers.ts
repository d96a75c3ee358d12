import { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { isRepeat, problem, remaining, start } from './once-service.js';
import type { OnceAnswer, OnceWorld } from './once-world.js';

const BYTES = Uint8Array.from({ length: 256 }, (_, byte) => byte);

const ANSWERS: readonly [string, () => OnceAnswer][] = [
  ['a text', () => ({ body: 'charged: 5 €' })],
  ['JSON', () => ({ status: 201, json: { charged: true, by: 'né' } })],
  ['bytes', () => ({ body: BYTES, headers: { 'content-type': 'application/x-own' } })],
  ['a stream', () => ({ body: Readable.from([Buffer.from('a '), Buffer.from('stream')]) })],
  ['nothing, by 204', () => ({ status: 204 })],
  ['a refusal of its own', () => ({ status: 402, json: { error: 'no money' } })],
  [
    'fields of its own',
    () => ({
      status: 201,
      json: {},
      headers: { location: '/charges/1', etag: '"7"', link: '</a>; rel="next"', 'x-own': '1' },
    }),
  ],
];

const SAME = ['content-type', 'location', 'etag', 'link', 'content-length', 'cache-control'];

export function keepsAnswers(world: OnceWorld): void {
  it.each(ANSWERS)('gives a repeat %s as the first time', async (_, answer) => {
    const { ask, runs } = await start(world, async ({ read }) => {
      await read();
      return answer();
    });
    const first = await ask();
    expect(isRepeat(first)).toBe(false);
    for (const _again of [1, 2]) {
      const again = await ask();
      expect(isRepeat(again)).toBe(true);
      expect(again.status).toBe(first.status);
      expect(again.bytes.equals(first.bytes)).toBe(true);
      // A stream has no length the first time.
      const names = SAME.filter((name) => name !== 'content-length' || first.headers[name]);
      for (const name of names)
        expect([name, again.headers[name]]).toEqual([name, first.headers[name]]);
      expect(again.headers['x-own']).toBeUndefined();
      expect(remaining(again)).toBe('99');
    }
    expect(runs()).toBe(1);
  });

  it('keeps no cookie, and sends the fields of limits as they are at the repeat', async () => {
    const { ask, runs } = await start(world, () => ({
      body: 'ok',
      headers: { 'set-cookie': 'session=1' },
    }));
    expect((await ask()).headers['set-cookie']).toBeDefined();
    await ask({ key: 'key-2' });
    const again = await ask();
    expect(again.headers['set-cookie']).toBeUndefined();
    expect([isRepeat(again), remaining(again), runs()]).toEqual([true, '98', 2]);
  });

  it('keeps no date: a repeat has that of the repeat', async () => {
    const date = 'Thu, 01 Jan 1970 00:00:00 GMT';
    const { ask } = await start(world, () => ({ body: 'ok', headers: { date } }));
    await ask();
    const again = await ask();
    expect([isRepeat(again), String(again.bytes)]).toEqual([true, 'ok']);
    expect(again.headers['date']).not.toBe(date);
  });

  it('gives a repeat of HEAD the same head, and no body', async () => {
    const { ask, runs } = await start(
      world,
      () => ({ json: { charged: true }, headers: { etag: '"7"' } }),
      { methods: ['HEAD'] },
    );
    const first = await ask({ method: 'HEAD' });
    const again = await ask({ method: 'HEAD' });
    expect([first.status, isRepeat(first), isRepeat(again), runs()]).toEqual([200, false, true, 1]);
    expect([again.status, again.bytes.length]).toEqual([200, 0]);
    for (const name of ['content-type', 'etag'])
      expect([name, again.headers[name]]).toEqual([name, first.headers[name]]);
  });

  it.each([
    [
      'at once',
      () => {
        throw new Error('thrown');
      },
    ],
    ['later', () => Promise.reject(new Error('rejected'))],
  ])('keeps what is answered to an error that is thrown %s', async (_, fail) => {
    const { ask, runs } = await start(world, fail);
    const first = await ask();
    const again = await ask();
    expect([first.status, again.status, isRepeat(again), runs()]).toEqual([500, 500, true, 1]);
    expect(String(again.bytes)).toBe(String(first.bytes));
    expect(again.headers['content-type']).toBe(first.headers['content-type']);
  });

  it('tells a repeat that a body was too long to be kept, and where the thing is', async () => {
    const { ask, runs } = await start(
      world,
      () => ({ status: 201, body: 'x'.repeat(101), headers: { location: '/charges/1' } }),
      { maxBody: 100 },
    );
    expect((await ask()).bytes).toHaveLength(101);
    const again = await ask();
    expect(problem(again)).toEqual([409, 'application/problem+json', 409]);
    expect([again.headers['location'], runs()]).toEqual(['/charges/1', 1]);
  });

  it('keeps nothing of 503, nor of what a guard has refused', async () => {
    let status = 503;
    const { ask, runs } = await start(world, () => ({ status, body: `${status}` }));
    expect((await ask()).status).toBe(503);
    status = 200;
    const next = await ask();
    expect([next.status, isRepeat(next), runs()]).toEqual([200, false, 2]);
  });

  it.each(world.compressions)(
    'gives the same bytes with compression %s the guard',
    async (compression) => {
      const text = 'text '.repeat(1_000);
      const { ask, runs } = await start(
        world,
        async ({ read }) => {
          await read();
          return { body: text, headers: { 'content-type': 'text/plain' } };
        },
        {},
        { compression },
      );
      const accepting = { headers: { 'accept-encoding': 'gzip' } };
      const first = await ask(accepting);
      const again = await ask(accepting);
      for (const reply of [first, again]) {
        expect(reply.headers['content-encoding']).toBe('gzip');
        expect(String(gunzipSync(reply.bytes))).toBe(text);
      }
      expect([isRepeat(first), isRepeat(again), runs()]).toEqual([false, true, 1]);
    },
  );
}

/** Tests for adapters that record the uncompressed response if compression is mounted before the guard. */
export function repeatsUncompressed(world: OnceWorld): void {
  it('keeps the answer as it was before compression: a client that cannot read it gets it plain', async () => {
    const text = 'text '.repeat(1_000);
    const { ask } = await start(world, () => ({ body: text }), {}, { compression: 'before' });
    expect(
      (await ask({ headers: { 'accept-encoding': 'gzip' } })).headers['content-encoding'],
    ).toBe('gzip');
    const plain = await ask({ headers: { 'accept-encoding': 'identity' } });
    expect([plain.headers['content-encoding'], String(plain.bytes)]).toEqual([undefined, text]);
    expect(isRepeat(plain)).toBe(true);
  });
}
