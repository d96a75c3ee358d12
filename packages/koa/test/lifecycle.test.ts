/** From the admission to the close of the response: released once, whatever happened. */

import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { concurrencyLimit, memoryStore, rateLimit, spillway } from '@spillway/koa';
import { describe, expect, it } from 'vitest';
import { noting } from './noting.js';
import { KOA, serve, until } from './service.js';

describe.each(KOA)('Koa $major', ({ Koa }) => {
  it('lets a stream through as it is written, and releases at its end', async () => {
    const { outcomes, guard } = noting();
    const app = new Koa();
    const stream = new PassThrough();
    app.use(guard);
    app.use((ctx) => {
      ctx.body = stream;
    });
    const { open } = await serve(app);
    const client = open();
    client.end();
    stream.write('one ');
    const [response] = await once(client, 'response');
    const [chunk] = await once(response, 'data');
    expect(String(chunk)).toBe('one ');
    expect(outcomes).toEqual([]);
    stream.end('two');
    expect(String((await once(response, 'data'))[0])).toBe('two');
    await until(() => outcomes.length > 0);
    expect(outcomes).toEqual([{ status: 200, aborted: false }]);
  });

  it('releases when a handler throws', async () => {
    const { outcomes, guard } = noting();
    const app = new Koa();
    app.silent = true;
    app.use(guard);
    app.use((ctx) => {
      if (ctx.path === '/now') throw new Error('thrown');
      return Promise.reject(new Error('rejected'));
    });
    const { get } = await serve(app);
    expect((await get('/now')).status).toBe(500);
    expect((await get('/later')).status).toBe(500);
    await until(() => outcomes.length === 2);
    expect(outcomes).toEqual([
      { status: 500, aborted: false },
      { status: 500, aborted: false },
    ]);
  });

  it('releases once when the client goes away before the answer, which then has no status', async () => {
    const { outcomes, guard } = noting();
    const app = new Koa();
    let finish: () => void = () => undefined;
    app.use(guard);
    app.use(async (ctx) => {
      client.destroy();
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      ctx.body = 'too late';
    });
    const { open } = await serve(app);
    const client = open().on('error', () => undefined);
    client.end();
    await until(() => outcomes.length > 0);
    finish();
    await new Promise(setImmediate);
    expect(outcomes).toEqual([{ aborted: true }]);
  });

  it('releases when the client goes away in the middle of a stream, which is destroyed', async () => {
    const { outcomes, guard } = noting();
    const app = new Koa();
    app.silent = true;
    const stream = new PassThrough();
    app.use(guard);
    app.use((ctx) => {
      stream.write('begun');
      ctx.body = stream;
    });
    const { open } = await serve(app);
    const client = open().on('error', () => undefined);
    client.end();
    const [response] = await once(client, 'response');
    response.on('error', () => undefined);
    client.destroy();
    await until(() => outcomes.length > 0);
    expect(outcomes).toEqual([{ status: 200, aborted: true }]);
    await until(() => stream.destroyed);
  });

  it('releases when a stream fails', async () => {
    const { outcomes, guard } = noting();
    const app = new Koa();
    app.silent = true;
    app.use(guard);
    app.use((ctx) => {
      ctx.body = new Readable({
        read() {
          this.destroy(new Error('the source failed'));
        },
      });
    });
    const { get } = await serve(app);
    await get().catch(() => undefined);
    await until(() => outcomes.length > 0);
    expect(outcomes).toHaveLength(1);
  });

  it('releases when the handler destroys the response', async () => {
    const { outcomes, guard } = noting();
    const app = new Koa();
    app.use(guard);
    app.use((ctx) => {
      ctx.respond = false;
      ctx.res.destroy();
    });
    const { get } = await serve(app);
    await expect(get()).rejects.toThrow('socket hang up');
    await until(() => outcomes.length > 0);
    expect(outcomes).toEqual([{ aborted: true }]);
  });

  it('releases when the handler answers without Koa', async () => {
    const { outcomes, guard } = noting();
    const app = new Koa();
    app.use(guard);
    app.use((ctx) => {
      ctx.respond = false;
      ctx.res.statusCode = 200;
      setImmediate(() => ctx.res.end('by hand'));
    });
    const { get } = await serve(app);
    expect(await get()).toMatchObject({ status: 200, body: 'by hand' });
    await until(() => outcomes.length > 0);
    expect(outcomes).toEqual([{ status: 200, aborted: false }]);
  });

  it('counts failures only, where the app says what a success is', async () => {
    const app = new Koa();
    const limiter = rateLimit({
      limit: 2,
      window: '1h',
      refundIf: ({ status, aborted }) => status === 200 && !aborted,
    });
    app.use(spillway(limiter));
    app.use((ctx) => {
      ctx.status = Number(ctx.path.slice(1));
    });
    const { get } = await serve(app);
    const statuses: number[] = [];
    for (const path of ['/200', '/200', '/200', '/401', '/200', '/401', '/401', '/200']) {
      statuses.push((await get(path)).status);
      await new Promise(setImmediate);
    }
    expect(statuses).toEqual([200, 200, 200, 401, 200, 401, 429, 429]);
  });

  it('gives all permits back when it is closed', async () => {
    const store = memoryStore();
    const options = { store };
    const guards = [1, 2].map(() => spillway(concurrencyLimit({ name: 'one', limit: 1 }), options));
    const app = new Koa();
    app.use((ctx, next) => guards[ctx.path === '/other' ? 1 : 0]?.(ctx, next));
    let finish: () => void = () => undefined;
    app.use(async (ctx) => {
      if (ctx.path === '/hold') {
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
      }
      ctx.body = 'ok';
    });
    const { get } = await serve(app);
    const held = get('/hold');
    const before = finish;
    await until(() => finish !== before);
    expect((await get('/other')).status).toBe(429);
    await guards[0]?.close();
    expect((await get('/other')).status).toBe(200);
    finish();
    expect((await held).status).toBe(200);
  });

  it('does not watch a response when there is nothing to give back', async () => {
    const app = new Koa();
    const listeners: number[] = [];
    app.use((ctx, next) => {
      listeners.push(ctx.res.listenerCount('close'));
      return next();
    });
    app.use(spillway(rateLimit({ limit: 5, window: '1h' })));
    app.use((ctx) => {
      listeners.push(ctx.res.listenerCount('close'));
      ctx.body = 'ok';
    });
    await (await serve(app)).get();
    expect(listeners[1]).toBe(listeners[0]);
  });

  it('throws nothing and adds nothing when the response has begun, or ended, before it', async () => {
    const app = new Koa();
    const errors: unknown[] = [];
    app.on('error', (error) => errors.push(error));
    app.use((ctx, next) => {
      ctx.res.statusCode = 200;
      if (ctx.path.startsWith('/begun')) ctx.res.write('begun');
      if (ctx.path === '/ended') ctx.res.end('ended');
      if (ctx.path !== '/begun') ctx.respond = false;
      return next();
    });
    app.use(spillway(rateLimit({ limit: 1, window: '1h', key: ({ path }) => path })));
    app.use((ctx) => {
      if (!ctx.res.writableEnded) ctx.res.end(', and ended');
    });
    const { get } = await serve(app);
    expect((await get('/begun')).body).toBe('begun, and ended');
    expect((await get('/begun')).body).toBe('begun');
    expect((await get('/begun-by-hand')).body).toBe('begun, and ended');
    expect((await get('/begun-by-hand')).body).toBe('begun');
    expect((await get('/ended')).body).toBe('ended');
    expect((await get('/ended')).body).toBe('ended');
    expect((await get('/by-hand')).body).toBe(', and ended');
    expect(await get('/by-hand')).toMatchObject({
      status: 429,
      body: expect.stringContaining('Quota exceeded'),
    });
    expect(errors).toEqual([]);
  });

  it('replaces a body that was set before it, and destroys it', async () => {
    const app = new Koa();
    const streams: PassThrough[] = [];
    app.use((ctx, next) => {
      const stream = new PassThrough();
      streams.push(stream);
      ctx.body = stream;
      ctx.set('Content-Length', '3');
      return next();
    });
    app.use(spillway(rateLimit({ limit: 1, window: '1h', cost: 2 })));
    const { get } = await serve(app);
    const { status, headers, body } = await get();
    expect({ status, type: headers['content-type'] }).toEqual({
      status: 429,
      type: 'application/problem+json',
    });
    expect(JSON.parse(body).status).toBe(429);
    expect(streams[0]?.destroyed).toBe(true);
  });
});
