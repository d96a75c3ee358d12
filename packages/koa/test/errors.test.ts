/** What the client gets when the app fails behind a guard: Koa's response, with the fields of all guards that ran. */

import { Readable } from 'node:stream';
import cors from '@koa/cors';
import { remoteStore } from '@spillway/core/store';
import { memoryStore, rateLimit, type SpillwayOptions, type Store, spillway } from '@spillway/koa';
import type Koa from 'koa';
import Koa2 from 'koa2';
import { describe, expect, it } from 'vitest';
import { KOA, serve } from './service.js';

const guard = (name: string, options?: SpillwayOptions, limit = 5) =>
  spillway(rateLimit({ name, limit, window: '1h' }), options);

/** Returns the errors that the app emits, as they come. Koa prints none of them, because there is a listener. */
function listening(app: Koa): unknown[] {
  const told: unknown[] = [];
  app.on('error', (error) => told.push(error));
  return told;
}

describe.each(KOA)('Koa $major', ({ Koa }) => {
  it('keeps the fields of all guards on a failing answer, and no others', async () => {
    const app = new Koa();
    const told = listening(app);
    const error = new Error('mine');
    app.use(guard('front'));
    app.use(guard('back'));
    app.use((ctx) => {
      ctx.set('X-Of-The-Handler', '1');
      throw error;
    });
    const { get } = await serve(app);
    expect(await get()).toMatchObject({
      status: 500,
      fields: [
        ['RateLimit-Policy', '"front";q=5;w=3600, "back";q=5;w=3600'],
        ['RateLimit', '"front";r=4;t=720, "back";r=4;t=720'],
        ['Content-Type', 'text/plain; charset=utf-8'],
        ['Content-Length', '21'],
      ],
      body: 'Internal Server Error',
    });
    expect(told).toEqual([error]);
    expect(error).not.toHaveProperty('headers');
  });

  it('keeps them beside those of CORS', async () => {
    const app = new Koa();
    listening(app);
    app.use(cors({ exposeHeaders: ['RateLimit'] }));
    app.use(guard('a'));
    app.use(() => Promise.reject(new Error('mine')));
    const { get } = await serve(app);
    expect((await get('/', { headers: { origin: 'https://a.example' } })).headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'RateLimit',
      ratelimit: '"a";r=4;t=720',
    });
  });

  it('keeps them when the store answers later, and when what is before the guard fails', async () => {
    const app = new Koa();
    listening(app);
    app.use(async (_ctx, next) => {
      await next();
      throw new Error('before');
    });
    const memory = memoryStore();
    const store: Store = remoteStore({ sync: false, apply: async (steps) => memory.apply(steps) });
    app.use(guard('a', { store }));
    app.use((ctx) => {
      ctx.body = 'ok';
    });
    const { get } = await serve(app);
    expect(await get()).toMatchObject({ status: 500, headers: { ratelimit: '"a";r=4;t=720' } });
  });

  it("lets the error's own status, message and headers stand", async () => {
    const app = new Koa();
    listening(app);
    app.use(guard('a'));
    app.use((ctx) =>
      ctx.throw(418, 'short', { headers: { Allow: 'GET', RateLimit: '"a";r=0', 'X-N': 7 } }),
    );
    const { get } = await serve(app);
    expect(await get()).toMatchObject({
      status: 418,
      headers: { allow: 'GET', ratelimit: '"a";r=0', 'x-n': '7' },
      body: 'short',
    });
  });

  it('tells no client the numbers of another, though both meet the same error', async () => {
    const app = new Koa();
    listening(app);
    const error = Object.assign(new Error('the only one'), { headers: { Allow: 'GET' } });
    const byKey = rateLimit({ name: 'a', limit: 5, window: '1h', key: (r) => r.header('x-key') });
    app.use(spillway(byKey, { skip: (r) => r.path === '/skipped' }));
    app.use(() => {
      throw error;
    });
    const { get } = await serve(app);
    const ratelimit = async (key: string, path?: string) =>
      (await get(path, { headers: { 'x-key': key } })).headers['ratelimit'];
    expect(await ratelimit('ada')).toContain('r=4;');
    expect(await ratelimit('ada')).toContain('r=3;');
    expect(await ratelimit('bob')).toContain('r=4;');
    expect(await ratelimit('bob', '/skipped')).toBeUndefined();
    expect(error.headers).toEqual({ Allow: 'GET' });
  });

  it.each([
    ['a text', 'mine'],
    ['an object', { message: 'mine' }],
    [
      'an error whose headers cannot be set',
      new (class extends Error {
        get headers() {
          return undefined;
        }
      })('mine'),
    ],
  ])('answers 500, and tells the app, when what is thrown is %s', async (_, thrown) => {
    const app = new Koa();
    const told = listening(app);
    app.use(guard('a'));
    app.use(() => {
      throw thrown;
    });
    const { get } = await serve(app);
    expect((await get()).status).toBe(500);
    expect(told.map(String)).toEqual([expect.stringContaining('mine')]);
    expect(told.map(String).join()).not.toContain('RateLimit');
  });

  it("leaves the answer to the app's own error handling, if there is one", async () => {
    const app = new Koa();
    const told = listening(app);
    app.context.onerror = function onerror(error: Error | null) {
      if (error) this.res.writeHead(555, error.message).end('own');
    };
    app.use(guard('a'));
    app.use(() => {
      throw new Error('mine');
    });
    const { get } = await serve(app);
    expect(await get()).toMatchObject({
      status: 555,
      headers: { ratelimit: '"a";r=4;t=720' },
      body: 'own',
    });
    expect(told).toEqual([]);
  });

  it('keeps what a client must know when the answer to a refusal fails', async () => {
    const app = new Koa();
    listening(app);
    const onRejected = () => {
      throw new Error('mine');
    };
    app.use(guard('a', { onRejected }, 1));
    const { get } = await serve(app);
    await get();
    const { status, headers } = await get();
    expect({ status, headers }).toMatchObject({
      status: 500,
      headers: {
        ratelimit: '"a";r=0;t=3600',
        'retry-after': '3600',
        'cache-control': 'no-store',
        'content-type': 'text/plain; charset=utf-8',
      },
    });
  });
});

it('keeps the fields when a body fails before it has begun, which Koa 2 answers', async () => {
  const app = new Koa2();
  listening(app);
  app.use(guard('a'));
  app.use((ctx) => {
    ctx.body = new Readable({
      read() {
        this.destroy(new Error('the source failed'));
      },
    });
  });
  const { get } = await serve(app);
  expect(await get()).toMatchObject({ status: 500, headers: { ratelimit: '"a";r=4;t=720' } });
});
