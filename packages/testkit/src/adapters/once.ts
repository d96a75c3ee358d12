/** Idempotency keys: a request with one runs once, and its repeats get the answer, byte for byte. */

import { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import type { IdempotencyOptions, RequestOutcome, ResponseEnd } from '@spillway/core';
import { expect, it } from 'vitest';
import { until } from '../index.js';
import { latch } from './driver.js';
import type { OnceAnswer, OnceApp, OnceReply, OnceService, OnceWorld } from './once-world.js';

interface Started extends OnceService {
  /** How often the handler was called. */
  runs(): number;
  /** How the requests that passed have ended. */
  readonly ends: readonly ResponseEnd[];
}

/** Serves a handler behind idempotency keys and a rate. */
async function start(
  world: OnceWorld,
  answer: (visit: Parameters<OnceApp['handle']>[0]) => OnceAnswer | Promise<OnceAnswer>,
  options: Partial<IdempotencyOptions> = {},
  app: Partial<OnceApp> = {},
): Promise<Started> {
  let runs = 0;
  const ends: ResponseEnd[] = [];
  const refundIf = (_request: unknown, { durationMs: _, ...end }: RequestOutcome): boolean => {
    ends.push(end);
    return false;
  };
  const limiters = [
    world.idempotency({ scope: (request) => request.header('x-account') ?? 'ada', ...options }),
    world.rateLimit({ name: 'api', limit: 100, window: '1h', key: 'all', refundIf }),
  ];
  const service = await world.serve({
    limiters,
    ...app,
    handle: async (visit) => {
      runs += 1;
      return answer(visit);
    },
  });
  return { ...service, runs: () => runs, ends };
}

const isRepeat = ({ headers }: OnceReply) => headers['idempotency-replayed'] === 'true';
const remaining = ({ headers }: OnceReply) => /r=(\d+)/.exec(headers['ratelimit'] ?? '')?.[1];
const problem = ({ status, headers, bytes }: OnceReply) => [
  status,
  headers['content-type'],
  JSON.parse(String(bytes)).status,
];

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

/** Fields that a repeat must have as the first answer had them. */
const SAME = ['content-type', 'location', 'etag', 'link', 'content-length', 'cache-control'];

/** Holds of every adapter. */
export function repeats(world: OnceWorld): void {
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

  it('answers 409 while the first is running, with a time to come back', async () => {
    const finish = latch();
    const arrived = latch();
    const { ask, runs } = await start(world, async () => {
      arrived.open();
      await finish.opened;
      return { body: 'done' };
    });
    const first = ask();
    await arrived.opened;
    const meanwhile = await ask();
    expect(problem(meanwhile)).toEqual([409, 'application/problem+json', 409]);
    expect(Number(meanwhile.headers['retry-after'])).toBeGreaterThan(0);
    finish.open();
    expect(String((await first).bytes)).toBe('done');
    await until(async () => isRepeat(await ask()));
    expect(runs()).toBe(1);
  });

  it('lets a repeat wait for the first, where it may', async () => {
    const finish = latch();
    const arrived = latch();
    const asked = latch();
    const options: Partial<IdempotencyOptions> = {
      wait: '20s',
      scope: (request) => {
        if (request.header('x-again')) asked.open();
        return 'ada';
      },
    };
    const handle = async () => {
      arrived.open();
      await finish.opened;
      return { body: 'done' };
    };
    const { ask, runs } = await start(world, handle, options);
    const first = ask();
    await arrived.opened;
    const again = ask({ headers: { 'x-again': '1' } });
    await asked.opened;
    finish.open();
    expect(String((await first).bytes)).toBe('done');
    expect([String((await again).bytes), isRepeat(await again), runs()]).toEqual(['done', true, 1]);
  });

  it.each(world.parsers)(
    'answers 422 to the key with another body or path (parsed before: %s)',
    async (parses) => {
      const { ask, runs } = await start(
        world,
        async ({ read }) => ({ json: { got: await read() } }),
        {},
        { parses },
      );
      const body = '{"amount": 10, "to": "bob"}';
      const first = await ask({ body });
      expect(JSON.parse(String(first.bytes))).toEqual({ got: { amount: 10, to: 'bob' } });
      const again = await ask({ body });
      expect([isRepeat(again), String(again.bytes)]).toEqual([true, String(first.bytes)]);
      const other = await ask({ body: '{"amount": 99, "to": "bob"}' });
      expect(problem(other)).toEqual([422, 'application/problem+json', 422]);
      expect((await ask({ body, path: '/refunds' })).status).toBe(422);
      expect((await ask({ body, path: '/charges?dry=1' })).status).toBe(422);
      expect(isRepeat(await ask({ body }))).toBe(true);
      const elsewhere = await ask({ body, headers: { 'x-account': 'bob' } });
      expect([elsewhere.status, isRepeat(elsewhere), runs()]).toEqual([200, false, 2]);
    },
  );

  it('answers 400 to a request without a key where one is required, and to hostile keys', async () => {
    const { ask, runs } = await start(world, () => ({ body: 'ok' }), { required: true });
    const hostile = [null, '', ' ', 'a'.repeat(256), '"open', 'a b', 'a,b', '\u00e9', '"a", "b"'];
    for (const key of hostile) {
      expect([key, ...problem(await ask({ key }))]).toEqual([
        key,
        400,
        'application/problem+json',
        400,
      ]);
    }
    expect(runs()).toBe(0);
    for (const key of ['"a b"', 'a'.repeat(255)]) expect((await ask({ key })).status).toBe(200);
  });

  it('runs what has no key as often as it comes', async () => {
    const { ask, runs } = await start(world, () => ({ body: 'ok' }));
    for (const _ of [1, 2]) expect(isRepeat(await ask({ key: null }))).toBe(false);
    expect(runs()).toBe(2);
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

  it('shows its claim to the handler', async () => {
    const claims: unknown[] = [];
    const { ask } = await start(world, ({ claim }) => {
      claims.push([claim?.key, claim?.token.length, claim?.signal.aborted]);
      return { body: 'ok' };
    });
    await ask();
    await ask({ key: null });
    expect(claims).toEqual([
      ['key-1', 16, false],
      [undefined, undefined, undefined],
    ]);
  });

  it('runs everything in shadow mode', async () => {
    const { ask, runs } = await start(world, () => ({ body: 'ok' }), { mode: 'shadow' });
    for (const _ of [1, 2]) expect(isRepeat(await ask())).toBe(false);
    expect(runs()).toBe(2);
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

/** Holds where compression is mounted in front of the guard, and the answer is seen before it. */
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

/** Holds where requests come over a connection, which a client can close. */
export function repeatsAfterDepartures(world: OnceWorld): void {
  it.each<[string, () => OnceAnswer]>([
    ['answers a text', () => ({ body: 'done' })],
    ['answers JSON', () => ({ status: 201, json: { done: true } })],
    [
      'throws',
      () => {
        throw new Error('failed');
      },
    ],
  ])('keeps the answer of a handler whose client has gone, and that %s', async (_, answer) => {
    const finish = latch();
    const arrived = latch();
    const { ask, open, ends, runs } = await start(world, async () => {
      arrived.open();
      await finish.opened;
      return answer();
    });
    const client = (open as NonNullable<OnceService['open']>)();
    client.on('error', () => undefined);
    await arrived.opened;
    client.destroy();
    await until(() => ends.length === 1);
    expect((await ask()).status).toBe(409);
    finish.open();
    await until(async () => isRepeat(await ask()));
    expect(runs()).toBe(1);
  });
}
