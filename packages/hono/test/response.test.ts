/** What a permit does to the response that holds it, and when the platform ends that response. */

import { getRequestListener } from '@hono/node-server';
import { remoteStore } from '@spillway/core/store';
import {
  concurrencyLimit,
  memoryStore,
  meter,
  rateLimit,
  type SpillwayOptions,
  type Store,
  spillway,
} from '@spillway/hono';
import { type Context, Hono } from 'hono';
import { SlowStore, until } from 'spillway-testkit';
import { noting } from 'spillway-testkit/adapters';
import { serveListener } from 'spillway-testkit/http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WAYS } from './service.js';

const [, [, { driver }]] = WAYS;

describe('a fetch response', () => {
  it('that fails while it is read ends its permit, and fails for the reader as before', async () => {
    const { outcomes, guard } = noting(driver);
    const app = new Hono();
    const body = new ReadableStream({
      pull(controller) {
        controller.error(new Error('the source broke'));
      },
    });
    app.get('/', guard, (c) => c.body(body));
    const response = await app.request('/');
    await expect(response.text()).rejects.toThrow('the source broke');
    expect(outcomes).toEqual([{ status: 200, aborted: true }]);
  });

  it('that a handler gives to all requests carries the fields of one', async () => {
    const app = new Hono();
    const none = new Response(null, { status: 204 });
    app.get(
      '/',
      spillway(rateLimit({ name: 'a', limit: 9, window: '1h', key: 'all' })),
      () => none,
    );
    for (const left of [8, 7, 6]) {
      const { headers } = await app.request('/');
      expect(headers.get('ratelimit')).toMatch(new RegExp(`^"a";r=${left};t=\\d+$`));
    }
  });

  it('has its fields where @hono/node-server has replaced Response, and the app has bindings', async () => {
    const { Request, Response } = globalThis;
    onTestFinished(() => void Object.assign(globalThis, { Request, Response }));
    const app = new Hono<{ Bindings: { db: string } }>();
    app.use(spillway(rateLimit({ name: 'a', limit: 9, window: '1h', key: 'all' })));
    app.get('/text', (c) => c.text(c.env.db));
    app.get('/json', () => globalThis.Response.json('sent'));
    app.get('/untyped', () => new globalThis.Response('sent'));
    const { get } = await serveListener(
      getRequestListener((request) => app.fetch(request, { db: 'sent' })),
    );
    expect(globalThis.Response).not.toBe(Response);
    for (const [at, path] of ['/text', '/json', '/untyped'].entries()) {
      const { body, headers } = await get(path);
      expect(body).toContain('sent');
      expect(headers['ratelimit']).toMatch(new RegExp(`^"a";r=${8 - at};t=\\d+$`));
    }
  });

  it('of a handler that throws no Error leaves nothing held', async () => {
    const { outcomes, guard } = noting(driver);
    const app = new Hono();
    app.get('/', guard, () => {
      throw 'a text'; // Hono lets it through
    });
    await expect(Promise.resolve(app.request('/'))).rejects.toBe('a text');
    expect(outcomes).toEqual([{ aborted: false }]);
  });

  it('that nobody gives leaves nothing held, and is told by Hono', async () => {
    const { outcomes, guard } = noting(driver);
    const app = new Hono();
    const messages: string[] = [];
    app.use(guard);
    app.get('/', (() => undefined) as never);
    app.onError((error, c) => {
      messages.push(error.message);
      return c.text('', 500);
    });
    expect((await app.request('/')).status).toBe(500);
    expect(messages).toEqual([expect.stringContaining('not finalized')]);
    expect(outcomes).toEqual([{ aborted: false }]);
  });

  it('is passed on untouched when there is nothing to give back', async () => {
    const app = new Hono();
    const answer = new Response('hello');
    app.use(spillway(rateLimit({ limit: 5, window: '1h', key: 'all' })));
    app.get('/', () => answer);
    expect(await app.request('/')).toBe(answer);
  });

  it('is read no faster than its reader asks', async () => {
    const { guard } = noting(driver);
    let pulled = 0;
    const body = new ReadableStream(
      {
        pull(controller) {
          pulled += 1;
          controller.enqueue(new Uint8Array(1));
        },
      },
      { highWaterMark: 0 },
    );
    const app = new Hono();
    app.get('/', guard, (c) => c.body(body));
    const reader = (await app.request('/')).body?.getReader();
    await reader?.read();
    await new Promise(setImmediate);
    expect(pulled).toBe(1);
    await reader?.cancel();
  });
});

describe('waitUntil', () => {
  const env = (promises: Promise<unknown>[]) => ({
    waitUntil: (promise: Promise<unknown>) => void promises.push(promise),
    passThroughOnException: () => undefined,
    props: {},
  });

  it('is told at once, and settles when the store has the permit back', async () => {
    const store = remoteStore(new SlowStore());
    const limiter = concurrencyLimit({ name: 'a', limit: 1, key: 'all' });
    const options: SpillwayOptions = { store, storeTimeout: '10s' };
    const app = new Hono();
    app.get('/', spillway(limiter, options), (c) => c.text('hello'));
    const promises: Promise<unknown>[] = [];
    const answer = Promise.resolve(app.request('/', {}, {}, env(promises)));
    await until(() => store.answer() === 1);
    const response = await answer;
    expect(promises.length).toBe(1);
    let settled = false;
    const all = Promise.all(promises).then(() => {
      settled = true;
    });
    expect(await response.text()).toBe('hello');
    await until(() => store.calls.length === 2);
    await new Promise(setImmediate);
    expect(settled).toBe(false);
    store.answer();
    await all;
    expect(store.calls[1]).toMatchObject([{ op: 'put' }]);
  });

  it('that throws fails no settlement of a meter', async () => {
    const rows = meter<number>({ reserve: () => 40 });
    const cost = rows.cost((count) => count);
    const memory = memoryStore();
    const store = remoteStore({ sync: false, apply: async (steps) => memory.apply(steps) });
    const app = new Hono();
    const limiter = rateLimit({ name: 'rows', limit: 500, window: '1h', key: () => 'all', cost });
    let context: Context | undefined;
    app.get('/', spillway(limiter, { store, logger: false }), (c) => {
      context = c;
      return c.text('hello');
    });
    const waitUntil = (): never => {
      throw new Error('mine');
    };
    await (await app.request('/', {}, {}, { ...env([]), waitUntil })).text();
    expect(rows.of(context as Context).settle(70)).toBe(true);
  });

  it('may be missing, where somebody calls the app with a context of their own', async () => {
    const app = new Hono();
    const limiter = concurrencyLimit({ name: 'a', limit: 1, key: 'all' });
    const faults: unknown[] = [];
    const onFault = (fault: unknown) => void faults.push(fault);
    const memory = memoryStore();
    const store: Store = remoteStore({ sync: false, apply: async (steps) => memory.apply(steps) });
    app.get('/', spillway(limiter, { store, onFault }), (c) => c.text('hello'));
    for (const _ of [1, 2]) {
      const response = await app.request('/', {}, {}, {} as never);
      expect(await response.text()).toBe('hello');
    }
    expect(faults).toEqual([]);
  });

  it('is told nothing when there is nothing to give back', async () => {
    const app = new Hono();
    app.use(spillway(rateLimit({ limit: 5, window: '1h', key: 'all' })));
    const promises: Promise<unknown>[] = [];
    await app.request('/', {}, {}, env(promises));
    expect(promises).toEqual([]);
  });
});
