import { Readable } from 'node:stream';
import type { IdempotencyOptions } from '@spillway/core';
import { expect, it } from 'vitest';
import { until } from '../index.js';
import { latch } from './driver.js';
import { isRepeat, problem, remaining, start } from './once-service.js';
import type { OnceAnswer, OnceReply, OnceService, OnceWorld } from './once-world.js';

export function claimsKeys(world: OnceWorld): void {
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

  it('answers 422 to the key at another host, however it is told, unless the app says otherwise', async () => {
    const at = (host: string, forwarded?: string) => ({
      headers: { host, ...(forwarded ? { 'x-forwarded-host': forwarded } : {}) },
    });
    const { ask, runs } = await start(world, () => ({ body: 'done' }));
    expect((await ask(at('shop-a.example'))).status).toBe(200);
    for (const same of ['SHOP-A.example', 'shop-a.example.', 'shop-a.example:8080']) {
      expect([same, isRepeat(await ask(at(same)))]).toEqual([same, true]);
    }
    expect(problem(await ask(at('shop-b.example')))).toEqual([
      422,
      'application/problem+json',
      422,
    ]);
    expect((await ask(at('shop-a.example', 'shop-b.example'))).status).toBe(422);
    expect(runs()).toBe(1);
    const wherever = await start(world, () => ({ body: 'done' }), { compareHost: false });
    expect((await wherever.ask(at('api.example'))).status).toBe(200);
    expect(isRepeat(await wherever.ask(at('eu.api.example')))).toBe(true);
  });

  it.each(world.parsers)(
    'answers 422 to the key with another body, however deep or large (parsed before: %s)',
    async (parses) => {
      const read = async ({ read }: { read(): Promise<unknown> }) => {
        await read();
        return { body: 'done' };
      };
      const { ask, runs } = await start(world, read, {}, { parses });
      const deep = '['.repeat(5_000) + ']'.repeat(5_000);
      const wide = JSON.stringify(Array.from({ length: 9_000 }, (_, at) => at));
      for (const [key, member] of Object.entries({ deep, wide })) {
        const bodyOf = (amount: number) => `{"amount":${amount},"x":${member}}`;
        expect((await ask({ key, body: bodyOf(5) })).status).toBe(200);
        expect(isRepeat(await ask({ key, body: bodyOf(5) }))).toBe(true);
        expect((await ask({ key, body: bodyOf(9) })).status).toBe(422);
      }
      expect(runs()).toBe(2);
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

  it('refuses by a limit what has a key, a repeat too, and leaves no claim behind', async () => {
    const caller = (request: { header(name: string): string | undefined }) =>
      request.header('x-caller') ?? 'a';
    const limiters = [
      world.idempotency({ scope: () => 'ada' }),
      world.rateLimit({ name: 'api', limit: 1, window: '1h', key: caller }),
    ];
    const { ask, runs } = await start(world, () => ({ body: 'ok' }), {}, { limiters });
    expect((await ask()).status).toBe(200);
    for (const key of ['key-1', 'key-2']) {
      const refused = await ask({ key });
      expect(problem(refused)).toEqual([429, 'application/problem+json', 429]);
      expect(isRepeat(refused)).toBe(false);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3_000);
    }
    const other = { headers: { 'x-caller': 'b' } };
    expect([isRepeat(await ask(other)), remaining(await ask(other))]).toEqual([true, '1']);
    const next = await ask({ key: 'key-2', ...other });
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
}

/** Tests for frameworks in which apps can rewrite the target of a request. */
export function repeatsRewritten(world: OnceWorld): void {
  it.each<[string, string, string]>([
    ['query', '/charges?of=1', '/charges?of=2'],
    ['path', '/charges/1', '/charges/2'],
  ])(
    'answers 422 to the key with another %s, also where the app rewrites it',
    async (_, one, other) => {
      const rewrite = () => '/charges';
      const { ask, runs } = await start(world, () => ({ body: 'done' }), {}, { rewrite });
      expect((await ask({ path: one })).status).toBe(200);
      expect((await ask({ path: other })).status).toBe(422);
      expect(isRepeat(await ask({ path: one }))).toBe(true);
      expect(runs()).toBe(1);
    },
  );
}

/** Tests for adapters whose requests come over a connection, which a client can close. */
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

  // Frameworks destroy the stream then, and nothing is written to the response.
  it.each([
    ['before the handler answers', false],
    ['before its first bytes', true],
  ])('runs a handler once that answers with a stream, if its client goes %s', async (_, isSent) => {
    const arrived = latch();
    const finish = latch();
    const stream = new Readable({ read: () => undefined });
    const { ask, open, ends, runs } = await start(world, async () => {
      arrived.open();
      if (!isSent) await finish.opened;
      return { status: 201, headers: { location: '/charges/17' }, body: stream };
    });
    const client = (open as NonNullable<OnceService['open']>)();
    client.on('error', () => undefined);
    await arrived.opened;
    if (isSent)
      await until(() => stream.listenerCount('readable') + stream.listenerCount('data') > 0);
    client.destroy();
    await until(() => ends.length === 1);
    finish.open();
    for (const chunk of ['do', 'ne', null]) {
      await new Promise(setImmediate);
      stream.push(chunk);
    }
    let last: OnceReply | undefined;
    await until(async () => {
      last = await ask();
      return last.headers['retry-after'] === undefined;
    });
    if (last && isRepeat(last)) expect([last.status, String(last.bytes)]).toEqual([201, 'done']);
    else expect([last?.status, last?.headers['location']]).toEqual([409, '/charges/17']);
    expect(runs()).toBe(1);
  });
}
