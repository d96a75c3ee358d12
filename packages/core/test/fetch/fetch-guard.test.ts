/** A guard over plain fetch handlers: `Request` in, `Response` out. */

import { concurrencyLimit, memoryStore, rateLimit } from '@spillway/core';
import { fetchGuard } from '@spillway/core/fetch';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it } from 'vitest';
import { ask, bare, collectGarbage, laterStore, noting } from './fetch-set-up.js';

describe('a wrapped handler', () => {
  it('answers with the fields of the limits, then is not asked any more', async () => {
    const limiter = rateLimit({ name: 'a', limit: 1, window: '1m', key: 'all' });
    const limits = fetchGuard(limiter, { store: memoryStore({ clock: new ManualClock() }) });
    let handled = 0;
    const handler = limits.wrap(() => {
      handled += 1;
      return new Response('hello', { status: 201, headers: { 'x-own': '1' } });
    });
    const passed = await handler(ask());
    expect(passed.status).toBe(201);
    expect(Object.fromEntries(passed.headers)).toMatchObject({
      'x-own': '1',
      'ratelimit-policy': '"a";q=1;w=60',
      ratelimit: '"a";r=0;t=60',
    });
    const refused = await handler(ask());
    const body = await refused.text();
    expect(refused.status).toBe(429);
    expect(Object.fromEntries(refused.headers)).toEqual({
      'cache-control': 'no-store',
      'content-length': String(body.length),
      'content-type': 'application/problem+json',
      ratelimit: '"a";r=0;t=60',
      'ratelimit-policy': '"a";q=1;w=60',
      'retry-after': '60',
    });
    expect(JSON.parse(body)).toMatchObject({ status: 429, 'violated-policies': ['a'] });
    const head = await handler(ask({ method: 'HEAD' }));
    expect(head.headers.get('content-length')).toBe(String(body.length));
    expect(await head.text()).toBe('');
    expect(handled).toBe(1);
  });

  it('is given all that the platform gave, and so is clientIp', async () => {
    const limiter = rateLimit({ limit: 1, window: '1h' });
    const limits = fetchGuard(limiter, {
      clientIp: (_request: Request, info: { readonly ip: string }) => info.ip,
    });
    const handler = limits.wrap((request, info) => new Response(`${request.method} ${info.ip}`));
    expect(await (await handler(ask(), { ip: '192.0.2.1' })).text()).toBe('GET 192.0.2.1');
    expect((await handler(ask(), { ip: '192.0.2.2' })).status).toBe(200);
    expect((await handler(ask(), { ip: '::ffff:192.0.2.1' })).status).toBe(429);
  });

  it.each([
    ['draft-11', 204, 'ratelimit', ['"a";r=9;t=360', '"a";r=8;t=720', '"a";r=9;t=360']],
    ['legacy', 404, 'x-ratelimit-remaining', ['9', '8', '9']],
  ] as const)(
    'answers each client with its own fields, though the handler gives one response to all: %s, %i',
    async (headers, status, name, expected) => {
      const key = ({ raw }: { raw: Request }) => raw.headers.get('x-user') ?? undefined;
      const limiter = rateLimit<Request>({ name: 'a', limit: 10, window: '1h', key });
      const store = memoryStore({ clock: new ManualClock() });
      const limits = fetchGuard(limiter, { store, headers: [headers] });
      const none = new Response(null, {
        status,
        statusText: 'Nothing',
        headers: { etag: '1', 'content-type': 'text/plain' },
      });
      const handler = limits.wrap(() => none);
      const told: (string | null)[] = [];
      for (const user of ['ada', 'ada', 'bob']) {
        const response = await handler(ask({ headers: { 'x-user': user } }));
        expect([response.status, response.statusText, response.headers.get('etag')]).toEqual([
          status,
          'Nothing',
          '1',
        ]);
        told.push(response.headers.get(name));
      }
      expect(told).toEqual(expected);
    },
  );

  it('calls the functions of options without `this`', async () => {
    const seen: [string, unknown][] = [];
    const noting = <Value>(name: string, value: Value) =>
      function option(this: unknown): Value {
        seen.push([name, this]);
        return value;
      };
    const limits = fetchGuard(
      [
        rateLimit({ name: 'a', limit: 9, window: '1h', cost: noting('cost', 1) }),
        rateLimit({ name: 'b', limit: 9, window: '1h', key: noting('key', 'all') }),
        concurrencyLimit({ name: 'c', limit: 9, key: 'all' }),
      ],
      {
        clientIp: noting('clientIp', '192.0.2.1'),
        skip: noting('skip', false),
        mode: noting('mode', 'enforce' as const),
        waitUntil: noting('waitUntil', undefined),
        store: laterStore(),
        onDecision: (_event, _key, request) => void request.waitUntil?.(Promise.resolve()),
      },
    );
    await (await limits.wrap(() => new Response('sent'))(ask())).text();
    const names = ['clientIp', 'cost', 'key', 'mode', 'skip', 'waitUntil'];
    expect([...new Set(seen.map(([name]) => name))].sort()).toEqual(names);
    expect(seen.filter(([, self]) => self !== undefined)).toEqual([]);
  });

  it('believes the proxies it is told of, from the peer that clientIp names', async () => {
    const seen: (string | undefined)[] = [];
    const key = (request: { clientIp: string | undefined }) => void seen.push(request.clientIp);
    const limiter = rateLimit({ limit: 9, window: '1h', key: key as () => undefined });
    const headers = { 'x-forwarded-for': '6.6.6.6, 192.0.2.7' };
    for (const peer of ['10.0.0.1', '192.0.2.1']) {
      const limits = fetchGuard(limiter, { clientIp: () => peer, trustProxy: ['10.0.0.0/8'] });
      await limits.wrap(() => new Response())(ask({ headers }));
    }
    expect(seen).toEqual(['192.0.2.7', '192.0.2.1']);
  });

  it.each([
    ['at once', undefined],
    ['later', laterStore()],
  ])(
    'fails with a code when the address is needed and nobody named it, answered %s',
    async (_, store) => {
      const limiter = rateLimit({ name: 'a', limit: 1, window: '1h' });
      const limits = fetchGuard(limiter, store ? { store } : {});
      const handler = limits.wrap(() => new Response());
      await expect(handler(ask())).rejects.toMatchObject({ code: 'SPW_ADDRESS_REQUIRED' });
      await expect(handler(ask())).rejects.toThrow('clientIp is required');
    },
  );

  it('holds no permit of a request that failed for want of an address', async () => {
    const store = memoryStore();
    const one = concurrencyLimit({ name: 'one', limit: 1, key: 'all' });
    const limits = fetchGuard([one, rateLimit({ name: 'a', limit: 9, window: '1h' })], { store });
    await expect(limits.check(ask())).rejects.toMatchObject({ code: 'SPW_ADDRESS_REQUIRED' });
    expect((await fetchGuard(one, { store }).check(ask())).response).toBeUndefined();
  });

  it('fails as it failed, and leaves nothing held', async () => {
    const limiter = concurrencyLimit({ limit: 1, key: 'all' });
    const handler = fetchGuard(limiter).wrap(() => Promise.reject(new Error('mine')));
    await expect(handler(ask())).rejects.toThrow('mine');
    await expect(handler(ask())).rejects.toThrow('mine');
  });

  it('keeps the answer of a guard within a guard, in order', async () => {
    const options = { store: memoryStore({ clock: new ManualClock() }) };
    const limit = (name: string, window: '1m' | '1h') =>
      fetchGuard(rateLimit({ name, limit: 1, window, key: 'all' }), options);
    const handler = limit('outer', '1m').wrap(limit('inner', '1h').wrap(() => new Response()));
    const { headers } = await handler(ask());
    expect(headers.get('ratelimit')).toBe('"outer";r=0;t=60, "inner";r=0;t=3600');
  });

  it.each([
    ['http://a.example', '/'],
    ['http://a.example/a/b?c=/d#e', '/a/b'],
    ['http://a.example?x', '/'],
    ['http://[::1]:8080/%2F//a', '/%2F//a'],
  ])('knows the path of %s', async (url, path) => {
    const paths: string[] = [];
    const skip = (request: { path: string }) => paths.push(request.path) > 0;
    const limits = fetchGuard(rateLimit({ limit: 1, window: '1h' }), { skip });
    await limits.wrap(() => new Response())({ ...bare, url });
    await limits.wrap(() => new Response())(new Request(url));
    expect(paths).toEqual([path, path]);
  });
});

describe('a permit', () => {
  const streamOf = (...chunks: string[]) =>
    new ReadableStream({
      pull(controller) {
        const chunk = chunks.shift();
        if (chunk === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(chunk));
      },
    });

  it('ends with the body', async () => {
    const { outcomes, limiter } = noting();
    const handler = fetchGuard(limiter).wrap(
      () => new Response(streamOf('a', 'b'), { status: 202 }),
    );
    const response = await handler(ask());
    expect(outcomes).toEqual([]);
    expect(await response.text()).toBe('ab');
    expect(outcomes).toEqual([{ status: 202, aborted: false }]);
  });

  it('ends at once where there is no body to wait for', async () => {
    const { outcomes, limiter } = noting();
    const limits = fetchGuard(limiter);
    await limits.wrap(() => new Response(null, { status: 204 }))(ask());
    await limits.wrap(() => new Response('unsent'))(ask({ method: 'HEAD' }));
    expect(outcomes).toEqual([
      { status: 204, aborted: false },
      { status: 200, aborted: false },
    ]);
  });

  it('ends once when the client goes away, before the answer or within it', async () => {
    const { outcomes, limiter } = noting();
    const limits = fetchGuard(limiter);
    const client = new AbortController();
    const early = limits.wrap(async () => {
      client.abort();
      return new Response(streamOf('late'));
    });
    expect(await (await early(ask({ signal: client.signal }))).text()).toBe('late');
    expect(outcomes).toEqual([{ aborted: true }]);

    const within = await limits.wrap(() => new Response(streamOf('a', 'b')))(ask());
    await within.body?.cancel();
    expect(outcomes.slice(1)).toEqual([{ status: 200, aborted: true }]);
  });

  it('ends at once if the client had gone before the guard was asked', async () => {
    const { outcomes, limiter } = noting();
    const handler = fetchGuard(limiter).wrap(() => new Response(streamOf('unread')));
    await handler(ask({ signal: AbortSignal.abort() }));
    expect(outcomes).toEqual([{ status: 200, aborted: true }]);
  });

  it('ends when the body fails, and the reader is told why', async () => {
    const { outcomes, limiter } = noting();
    const broken = new ReadableStream({
      pull: (controller) => controller.error(new Error('the source broke')),
    });
    const response = await fetchGuard(limiter).wrap(() => new Response(broken))(ask());
    await expect(response.text()).rejects.toThrow('the source broke');
    expect(outcomes).toEqual([{ status: 200, aborted: true }]);
  });

  it('of a client that went while the store was asked is not used', async () => {
    const { outcomes, limiter } = noting();
    const client = new AbortController();
    const handler = fetchGuard(limiter, { store: laterStore() }).wrap(() => {
      throw new Error('handled');
    });
    const response = handler(ask({ signal: client.signal }));
    client.abort();
    expect((await (response as Promise<Response>)).status).toBe(499);
    expect(outcomes).toEqual([{ aborted: true, unhandled: true }]);
  });

  it('ends when the response is thrown away unread', async () => {
    const { outcomes, limiter } = noting();
    const handler = fetchGuard(limiter).wrap(() => new Response(streamOf('unread')));
    await handler(ask());
    await collectGarbage(() => outcomes.length > 0);
    expect(outcomes).toEqual([{ aborted: true }]);
  });

  it('outlives the response that a reader of its body was taken from', async () => {
    const { outcomes, limiter } = noting();
    const handler = fetchGuard(limiter).wrap(() => new Response(streamOf('a', 'b')));
    const reader = (await handler(ask())).body?.getReader();
    await collectGarbage(() => outcomes.length > 0);
    expect(outcomes).toEqual([]);
    while (!(await reader?.read())?.done);
    expect(outcomes).toEqual([{ status: 200, aborted: false }]);
  });

  it('is waited for where the platform must be told', async () => {
    const promises: Promise<unknown>[] = [];
    const limiter = concurrencyLimit({ name: 'a', limit: 1, key: 'all' });
    const limits = fetchGuard(limiter, {
      store: laterStore(),
      waitUntil: (promise, _request: Request, ctx: { id: number }) => {
        expect(ctx.id).toBe(7);
        promises.push(promise);
      },
    });
    const handler = limits.wrap(() => new Response('hello'));
    for (let i = 1; i <= 2; i += 1) {
      const response = await handler(ask(), { id: 7 });
      expect(response.status).toBe(200);
      expect(promises.length).toBe(i);
      await response.text();
      await Promise.all(promises); // the store has received the release
    }
  });
});
