import { Readable } from 'node:stream';
import { type Fault, rateLimit, spillway } from '@spillway/koa';
import type { Context, Next } from 'koa';
import { answers, latch, ownAnswers, ownAnswersEnd } from 'spillway-testkit/adapters';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { KOA, serve } from './service.js';

describe.each(KOA)('Koa $major', ({ driver }) => {
  answers(driver);
  ownAnswers(driver);
  ownAnswersEnd(driver, { handsNext: true });
});

describe.each(KOA)('Koa $major', ({ Koa }) => {
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

  it.each<[string, (ctx: Context) => unknown, object]>([
    ['sets a body', (ctx) => Object.assign(ctx, { body: 'mine' }), { status: 429, body: 'mine' }],
    [
      'sets a status',
      (ctx) => Object.assign(ctx, { status: 503 }),
      { status: 503, body: 'Service Unavailable' },
    ],
    ['redirects', (ctx) => ctx.redirect('/busy'), { status: 302 }],
    ['sets no body', (ctx) => Object.assign(ctx, { body: null }), { status: 204, body: '' }],
    [
      'streams',
      (ctx) => Object.assign(ctx, { body: Readable.from(['slow']) }),
      { status: 429, body: 'slow' },
    ],
    [
      'writes to the response of Node',
      (ctx) => {
        ctx.respond = false;
        setImmediate(() => ctx.res.end('by hand'));
      },
      { status: 429, body: 'by hand' },
    ],
  ])('takes it for an answer that an own answer %s', async (_, own, expected) => {
    const faults: Fault[] = [];
    const app = new Koa();
    const limiter = rateLimit({ limit: 1, window: '1h', cost: () => 2 });
    const onFault = (fault: Fault) => void faults.push(fault);
    app.use(spillway(limiter, { onFault, onRejected: (_admission, ctx) => void own(ctx) }));
    const { get } = await serve(app);
    expect(await get()).toMatchObject(expected);
    expect(faults).toEqual([]);
  });

  it.each<[string, (ctx: Context, next: Next) => unknown]>([
    ['a status and next()', (ctx, next) => Object.assign(ctx, { status: 200 }) && next()],
    ['a body and next()', (ctx, next) => Object.assign(ctx, { body: 'mine' }) && next()],
    [
      'next() and a body',
      async (ctx, next) => {
        await next();
        ctx.body = 'mine';
      },
    ],
  ])('refuses as usual where an own answer is %s', async (_, own) => {
    const ran: string[] = [];
    const app = new Koa();
    const limiter = rateLimit({ limit: 1, window: '1h', cost: () => 2 });
    app.use(
      spillway(limiter, {
        onFault: () => undefined,
        onRejected: (_admission, ctx, next) => own(ctx, next),
      }),
    );
    app.use((ctx) => void ran.push(ctx.path));
    const { get } = await serve(app);
    const { status, headers, body } = await get();
    expect({ status, type: headers['content-type'] }).toEqual({
      status: 429,
      type: 'application/problem+json',
    });
    expect(JSON.parse(body)).toMatchObject({ status: 429 });
    expect(ran).toEqual([]);
  });

  it('answers by itself where an own answer takes the response and leaves it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const asked = latch();
    const app = new Koa();
    const limiter = rateLimit({ limit: 1, window: '1h', cost: () => 2 });
    const onRejected = (_admission: unknown, ctx: Context) => {
      ctx.respond = false;
      asked.open();
    };
    app.use(spillway(limiter, { onFault: () => undefined, onRejected }));
    const { get } = await serve(app);
    const reply = get();
    await asked.opened;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await reply).toMatchObject({ status: 429 });
  });
});
