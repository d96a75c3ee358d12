/** Stores that answer at once, later, or not at all. */

import { remoteStore } from '@spillway/core/store';
import {
  memoryStore,
  type RequestOutcome,
  type ResponseEnd,
  rateLimit,
  spillway,
} from '@spillway/koa';
import type Koa3 from 'koa';
import type { Context } from 'koa';
import { SlowStore, until } from 'spillway-testkit';
import { stores } from 'spillway-testkit/adapters';
import { describe, expect, it } from 'vitest';
import { KOA, serve } from './service.js';

type Refund = (request: unknown, outcome: RequestOutcome) => boolean;
const limit = (name: string, refundIf?: Refund) =>
  rateLimit({ name, limit: 1, window: '1h', ...(refundIf && { refundIf }) });

describe.each(KOA)('Koa $major', ({ driver }) => {
  stores(driver);
});

describe.each(KOA)('Koa $major', ({ Koa }) => {
  it('hands on within the same call, and makes no promise, when the store answers at once', async () => {
    const guard = spillway(limit('now'), { store: memoryStore() });
    const app = new Koa();
    const calls: unknown[] = [];
    app.use((ctx, next) => {
      const handedOn = Promise.resolve();
      const returned = guard(ctx, () => {
        calls.push('next');
        return handedOn;
      });
      calls.push(returned === handedOn);
      return next();
    });
    await (await serve(app)).get();
    expect(calls).toEqual(['next', true]);
  });

  it('gives back, and runs no handler, when the client has gone away meanwhile', async () => {
    const store = remoteStore(new SlowStore());
    const outcomes: ResponseEnd[] = [];
    const errors: unknown[] = [];
    let handled = 0;
    let closed = false;
    let ended = false;
    const app = new Koa();
    app.on('error', (error) => errors.push(error));
    app.use(async (ctx, next) => {
      ctx.res.once('close', () => {
        closed = true;
      });
      await next();
      ended = true;
    });
    const refundIf = (_request: unknown, { durationMs: _, ...end }: RequestOutcome) => {
      outcomes.push(end);
      return end.aborted === true;
    };
    app.use(spillway(limit('gone', refundIf), { store, storeTimeout: '10s' }));
    app.use(() => {
      handled += 1;
    });
    const { open } = await serve(app);
    const client = open().on('error', () => undefined);
    client.end();
    await until(() => store.calls.length === 1);
    client.destroy();
    await until(() => closed);
    store.answer();
    await until(() => store.calls.length === 2 && ended);
    expect({ outcomes, handled, errors }).toEqual({
      outcomes: [{ aborted: true, unhandled: true }],
      handled: 0,
      errors: [],
    });
    expect(store.calls[1]).toMatchObject([{ op: 'put', limiter: 'gone', cost: 1 }]);
  });

  it('is typed for the context of Koa', () => {
    const limiter = rateLimit({ limit: 1, window: '1s', key: ({ raw }) => raw.get('x-api-key') });
    const onRejected = (_: unknown, ctx: Context) => ctx.redirect('/busy');
    const guard = spillway([limiter], { onRejected });
    const app: Koa3<{ userId: string }, { log(text: string): void }> = new Koa();
    expect(() => app.use(guard)).not.toThrow();
  });
});
