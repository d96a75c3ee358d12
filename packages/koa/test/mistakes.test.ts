/** An app may be put together wrongly, and its own answers may return anything: no request fails because of it. */

import { rateLimit, type SpillwayOptions, spillway } from '@spillway/koa';
import type { Context } from 'koa';
import { mistakes } from 'spillway-testkit/adapters';
import { describe, expect, it } from 'vitest';
import { KOA, serve } from './service.js';

describe.each(KOA)('Koa $major', ({ driver }) => {
  mistakes(driver);
});

describe.each(KOA)('Koa $major', ({ Koa }) => {
  it.each<[string, (ctx: Context) => unknown]>([
    ['its context', (ctx) => Object.assign(ctx, { body: 'sorry' })],
    ['a text', (ctx) => (ctx.body = 'sorry')],
    ['a promise', async (ctx) => Object.assign(ctx, { body: 'sorry' })],
  ])('lets an own answer return %s', async (_, answer) => {
    const onRejected: SpillwayOptions['onRejected'] = (_admission, ctx) => answer(ctx);
    const app = new Koa();
    app.use(spillway(rateLimit({ limit: 1, window: '1h', cost: () => 2 }), { onRejected }));
    const { get } = await serve(app);
    expect(await get()).toMatchObject({ status: 429, body: 'sorry' });
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('mine');
      },
    ],
    ['rejects', () => Promise.reject(new Error('mine'))],
  ])('answers 500 where an own answer %s', async (_, onRejected) => {
    const app = new Koa();
    app.silent = true;
    app.use(spillway(rateLimit({ limit: 1, window: '1h', cost: () => 2 }), { onRejected }));
    const { get } = await serve(app);
    expect(await get()).toMatchObject({ status: 500, body: 'Internal Server Error' });
  });
});
