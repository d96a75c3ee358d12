/** What goes over the wire: fields, statuses and bodies, byte for byte. */

import { ManualClock } from '@spillway/core/testing';
import { memoryStore, rateLimit, spillway } from '@spillway/koa';
import { describe, expect, it } from 'vitest';
import { KOA, serve } from './service.js';

const PROBLEM =
  '{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota exceeded","status":429,' +
  '"detail":"You have used up the quota of policy \\"2-per-1m\\". Try again in 30 seconds.","violated-policies":["2-per-1m"]}';

describe.each(KOA)('Koa $major', ({ Koa }) => {
  it('answers up to the limit, then refuses with 429, all fields and a problem document', async () => {
    const clock = new ManualClock();
    const app = new Koa();
    const limiter = rateLimit({ name: '2-per-1m', limit: 2, window: '1m' });
    app.use(spillway(limiter, { store: memoryStore({ clock }) }));
    app.use((ctx) => {
      ctx.body = 'hello';
    });
    const { get } = await serve(app);

    expect(await get()).toMatchObject({
      status: 200,
      fields: [
        ['RateLimit-Policy', '"2-per-1m";q=2;w=60'],
        ['RateLimit', '"2-per-1m";r=1;t=30'],
        ['Content-Type', 'text/plain; charset=utf-8'],
        ['Content-Length', '5'],
      ],
      body: 'hello',
    });
    expect((await get()).headers['ratelimit']).toBe('"2-per-1m";r=0;t=30');
    expect(await get()).toMatchObject({
      status: 429,
      fields: [
        ['RateLimit-Policy', '"2-per-1m";q=2;w=60'],
        ['RateLimit', '"2-per-1m";r=0;t=30'],
        ['Retry-After', '30'],
        ['Cache-Control', 'no-store'],
        ['Content-Type', 'application/problem+json'],
        ['Content-Length', String(PROBLEM.length)],
      ],
      body: PROBLEM,
    });
  });

  it('refuses until exactly the promised moment, then admits', async () => {
    const clock = new ManualClock();
    const app = new Koa();
    const limiter = rateLimit({ name: 'a', limit: 1, window: '10s' });
    app.use(spillway(limiter, { store: memoryStore({ clock }) }));
    const { get } = await serve(app);
    expect((await get()).status).toBe(404);
    expect((await get()).headers['retry-after']).toBe('10');
    clock.advance(9_999.999);
    expect((await get()).status).toBe(429);
    clock.advance(0.001);
    expect((await get()).status).toBe(404);
  });

  it('sends the length of the body but no body to a refused HEAD', async () => {
    const app = new Koa();
    app.use(spillway(rateLimit({ limit: 1, window: '1h' })));
    const { get } = await serve(app);
    await get('/', { method: 'HEAD' });
    const whole = await get();
    const head = await get('/', { method: 'HEAD' });
    expect(head).toMatchObject({ status: 429, body: '' });
    expect(head.headers['content-length']).toBe(String(whole.body.length));
  });

  it('sends the legacy fields when asked, and none when told so', async () => {
    const app = new Koa();
    const limit = (name: string) => rateLimit({ name, limit: 5, window: '1m' });
    const legacy = spillway(limit('a'), { headers: ['legacy'] });
    const none = spillway(limit('b'), { headers: [] });
    app.use((ctx, next) => (ctx.path === '/legacy' ? legacy : none)(ctx, next));
    const { get } = await serve(app);
    const { headers } = await get('/legacy');
    expect(headers).toMatchObject({ 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '4' });
    expect(headers['ratelimit']).toBeUndefined();
    const names = Object.keys((await get('/none')).headers);
    expect(names.filter((name) => name.includes('ratelimit'))).toEqual([]);
  });

  it('shows a refusal to the middleware before it, which may change it', async () => {
    const app = new Koa();
    const seen: unknown[] = [];
    app.use(async (ctx, next) => {
      await next();
      seen.push([ctx.status, ctx.type, ctx.length, ctx.response.headers['retry-after']]);
      if (ctx.status === 429) ctx.body = 'something else';
    });
    app.use(spillway(rateLimit({ limit: 1, window: '1h' })));
    app.use((ctx) => {
      ctx.body = 'hello';
    });
    const { get } = await serve(app);
    await get();
    const { status, body, headers } = await get();
    expect({ status, body }).toEqual({ status: 429, body: 'something else' });
    expect(headers['content-length']).toBe('14');
    expect(seen).toEqual([
      [200, 'text/plain', 5, undefined],
      [429, 'application/problem+json', expect.any(Number), '3600'],
    ]);
  });

  it('lets the app answer a refusal, with the status and the fields already set', async () => {
    const app = new Koa();
    app.use(
      spillway(rateLimit({ name: 'own', limit: 1, window: '1h' }), {
        onRefused: ({ binding }, ctx) => {
          ctx.body = { sorry: binding?.limiter };
        },
      }),
    );
    const { get } = await serve(app);
    await get();
    const { status, headers, body } = await get();
    expect({ status, body }).toEqual({ status: 429, body: '{"sorry":"own"}' });
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(headers).toMatchObject({ 'retry-after': '3600', 'cache-control': 'no-store' });
  });

  it('lets the app hand a refused request on', async () => {
    const app = new Koa();
    app.use(
      spillway(rateLimit({ limit: 1, window: '1h' }), {
        onRefused: (_admission, ctx, next) => {
          ctx.status = 200;
          return next();
        },
      }),
    );
    app.use((ctx) => {
      ctx.body = 'a cheap answer';
    });
    const { get } = await serve(app);
    await get();
    expect(await get()).toMatchObject({ status: 200, body: 'a cheap answer' });
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('mine');
      },
    ],
    ['rejects', () => Promise.reject(new Error('mine'))],
  ])("leaves to the app's error handling what the own answer %s", async (_, onRefused) => {
    const app = new Koa();
    app.use(async (ctx, next) => {
      try {
        await next();
      } catch (error) {
        ctx.status = 500;
        ctx.body = (error as Error).message;
      }
    });
    app.use(spillway(rateLimit({ limit: 1, window: '1h' }), { onRefused }));
    const { get } = await serve(app);
    await get();
    expect(await get()).toMatchObject({ status: 500, body: 'mine' });
  });

  it('never tells a client to wait for what can never pass', async () => {
    const app = new Koa();
    app.use(spillway(rateLimit({ name: 'small', limit: 2, window: '1m', cost: 3 })));
    const { get } = await serve(app);
    const { status, headers } = await get();
    expect(status).toBe(429);
    expect(headers['retry-after']).toBeUndefined();
    expect(headers['ratelimit']).toBe('"small";r=0');
  });

  it('shows nothing of hostile keys and paths', async () => {
    const app = new Koa();
    const key = (request: { header(name: string): string | undefined }) => request.header('x-key');
    app.use(spillway(rateLimit({ name: 'hostile', limit: 1, window: '1h', key })));
    const { get } = await serve(app);
    for (const value of ['é\t"\\', '__proto__', 'a'.repeat(8_000), '<script>']) {
      const ask = () => get('/%0d%0aX-Evil:%201?<script>', { headers: { 'x-key': value } });
      expect((await ask()).status).toBe(404);
      const { status, headers, body } = await ask();
      expect(status).toBe(429);
      expect(headers['ratelimit']).toBe('"hostile";r=0;t=3600');
      expect(headers['x-evil']).toBeUndefined();
      expect(body).not.toContain('script');
      expect(body).not.toContain(value.slice(0, 9));
    }
  });
});
