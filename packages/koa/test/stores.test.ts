/** Stores that answer at once, later, or not at all. */

import {
  type Decision,
  type Fault,
  type Limiter,
  memoryStore,
  type RequestOutcome,
  type ResponseEnd,
  rateLimit,
  type SpillwayOptions,
  spillway,
} from '@spillway/koa';
import type Koa3 from 'koa';
import type { Context } from 'koa';
import { describe, expect, it } from 'vitest';
import { brokenStore, SlowStore } from '../../../tests/http/stores.js';
import { KOA, serve, until } from './service.js';

const limit = (name: string, refundIf?: (outcome: RequestOutcome) => boolean) =>
  rateLimit({ name, limit: 1, window: '1h', ...(refundIf && { refundIf }) });

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

  it('waits for a store that answers later', async () => {
    const store = new SlowStore();
    const app = new Koa();
    app.use(spillway(limit('later'), { store, storeTimeout: '10s' }));
    const { get } = await serve(app);
    const statuses: number[] = [];
    for (const _ of [1, 2]) {
      const reply = get();
      await until(() => store.calls.length > statuses.length);
      store.answer();
      statuses.push((await reply).status);
    }
    expect(statuses).toEqual([404, 429]);
  });

  it('gives back, and runs no handler, when the client has gone away meanwhile', async () => {
    const store = new SlowStore();
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
    const refundIf = ({ durationMs: _, ...end }: RequestOutcome) => {
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
      outcomes: [{ aborted: true }],
      handled: 0,
      errors: [],
    });
    expect(store.calls[1]).toMatchObject([{ op: 'put', limiter: 'gone', cost: 1 }]);
  });

  it.each<[SpillwayOptions['onStoreError'], number[]]>([
    ['allow', [404, 404]],
    ['deny', [503, 503]],
    ['local', [404, 429]],
  ])('answers by %s when the store fails', async (onStoreError, statuses) => {
    const faults: Fault[] = [];
    const decisions: Decision[] = [];
    const app = new Koa();
    app.use(
      spillway(limit('broken'), {
        store: { ...brokenStore },
        ...(onStoreError && { onStoreError }),
        onFault: (fault) => faults.push(fault),
        onDecision: (decision) => decisions.push(decision),
      }),
    );
    const { get } = await serve(app);
    expect([(await get()).status, (await get()).status]).toEqual(statuses);
    expect(decisions.map((decision) => decision.outcome)).toEqual(['error', 'error']);
    expect(faults.map(({ source }) => source)).toEqual(['store', 'store']);
  });

  it('answers after the timeout when the store does not', async () => {
    const app = new Koa();
    app.use(spillway(limit('stuck'), { store: new SlowStore(), storeTimeout: '20ms' }));
    const { get } = await serve(app);
    const start = performance.now();
    expect((await get()).status).toBe(404);
    const tookMs = performance.now() - start;
    expect(tookMs).toBeGreaterThan(15);
    expect(tookMs).toBeLessThan(1_000);
  });

  const fails = (): never => {
    throw new Error('not mine');
  };
  const lie = {
    allowed: false,
    limiter: 'a\r\nX-Evil: 1',
    reason: 'rate',
    remaining: 0,
    policy: {},
  };
  it.each<[string, Limiter<Context>]>([
    ['throws', { kind: 'local', name: 'theirs', mode: 'enforce', decide: fails }],
    ['throws before the store', { ...limit('theirs'), named: true, step: fails } as never],
    ['lies', { kind: 'local', name: 'theirs', mode: 'enforce', decide: () => lie as never }],
  ])('lets a request pass when a limiter of somebody else %s', async (_, limiter) => {
    const faults: Fault[] = [];
    const app = new Koa();
    app.use(spillway(limiter, { onFault: (fault) => faults.push(fault) }));
    const { get } = await serve(app);
    const { status, headers } = await get();
    expect(status).toBe(404);
    expect(headers['x-evil']).toBeUndefined();
    expect(faults).toHaveLength(1);
  });

  it('keeps the words of an observer that throws to itself', async () => {
    const app = new Koa();
    app.use(spillway(limit('observed'), { onDecision: fails, onFault: fails, skip: fails }));
    const { get } = await serve(app);
    expect([(await get()).status, (await get()).status]).toEqual([404, 429]);
  });

  it('is typed for the context of Koa', () => {
    const limiter = rateLimit({ limit: 1, window: '1s', key: ({ raw }) => raw.get('x-api-key') });
    const onRefused = (_: unknown, ctx: Context) => ctx.redirect('/busy');
    const guard = spillway([limiter], { onRefused });
    const app: Koa3<{ userId: string }, { log(text: string): void }> = new Koa();
    expect(() => app.use(guard)).not.toThrow();
  });
});
