import { rateLimit, spillway } from '@spillway/koa';
import { answers, ownAnswers } from 'spillway-testkit/adapters';
import { describe, expect, it } from 'vitest';
import { KOA, serve } from './service.js';

describe.each(KOA)('Koa $major', ({ driver }) => {
  answers(driver);
  ownAnswers(driver);
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
});
