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
} from '@spillway/express';
import type { Request, Response } from 'express';
import { describe, expect, it } from 'vitest';
import { brokenStore, SlowStore } from '../../../tests/http/stores.js';
import { EXPRESS, serve, until } from './service.js';

const limit = (name: string, refundIf?: (outcome: RequestOutcome) => boolean) =>
  rateLimit({ name, limit: 1, window: '1h', ...(refundIf && { refundIf }) });

describe.each(EXPRESS)('Express $major', ({ express }) => {
  it('hands on within the same call when the store answers at once', async () => {
    const guard = spillway(limit('now'), { store: memoryStore() });
    const app = express();
    const calls: string[] = [];
    app.use((req, res, next) => {
      guard(req, res, () => calls.push('next'));
      calls.push('returned');
      next();
    });
    await (await serve(app)).get();
    expect(calls).toEqual(['next', 'returned']);
  });

  it('waits for a store that answers later', async () => {
    const store = new SlowStore();
    const app = express();
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
    let handled = 0;
    let closed = false;
    const app = express();
    app.use((_req, res, next) => {
      res.once('close', () => {
        closed = true;
      });
      next();
    });
    const refundIf = ({ durationMs: _, ...end }: RequestOutcome) => {
      outcomes.push(end);
      return end.aborted === true;
    };
    app.use(spillway(limit('gone', refundIf), { store, storeTimeout: '10s' }));
    app.use((_req, res) => {
      handled += 1;
      res.end();
    });
    const { open } = await serve(app);
    const client = open().on('error', () => undefined);
    client.end();
    await until(() => store.calls.length === 1);
    client.destroy();
    await until(() => closed);
    store.answer();
    await until(() => store.calls.length === 2);
    expect({ outcomes, handled }).toEqual({ outcomes: [{ aborted: true }], handled: 0 });
    expect(store.calls[1]).toMatchObject([{ op: 'put', limiter: 'gone', cost: 1 }]);
  });

  it.each<[SpillwayOptions['onStoreError'], number[], Decision['outcome']]>([
    ['allow', [404, 404], 'error'],
    ['deny', [503, 503], 'error'],
    ['local', [404, 429], 'error'],
  ])('answers by %s when the store fails', async (onStoreError, statuses, outcome) => {
    const faults: Fault[] = [];
    const decisions: Decision[] = [];
    const app = express();
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
    expect(decisions.map((decision) => decision.outcome)).toEqual([outcome, outcome]);
    expect(faults.map(({ source }) => source)).toEqual(['store', 'store']);
  });

  it('tells clients no numbers that it does not know', async () => {
    const app = express();
    app.use(spillway(limit('deny'), { store: { ...brokenStore }, onStoreError: 'deny' }));
    const { get } = await serve(app);
    const { headers, body } = await get();
    expect(headers['ratelimit']).toBeUndefined();
    expect(headers['retry-after']).toBe('1');
    expect(JSON.parse(body)).toMatchObject({ status: 503, title: 'Temporarily reduced capacity' });
  });

  it('answers after the timeout when the store does not', async () => {
    const store = new SlowStore();
    const app = express();
    app.use(spillway(limit('stuck'), { store, storeTimeout: '20ms' }));
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
  it.each<[string, Limiter<Request>]>([
    ['throws', { kind: 'local', name: 'theirs', mode: 'enforce', decide: fails }],
    ['throws before the store', { ...limit('theirs'), named: true, step: fails } as never],
    ['lies', { kind: 'local', name: 'theirs', mode: 'enforce', decide: () => lie as never }],
  ])('lets a request pass when a limiter of somebody else %s', async (_, limiter) => {
    const faults: Fault[] = [];
    const app = express();
    app.use(spillway(limiter, { onFault: (fault) => faults.push(fault) }));
    const { get } = await serve(app);
    const { status, headers } = await get();
    expect(status).toBe(404);
    expect(headers['x-evil']).toBeUndefined();
    expect(faults).toHaveLength(1);
  });

  it('keeps the words of an observer that throws to itself', async () => {
    const app = express();
    app.use(spillway(limit('observed'), { onDecision: fails, onFault: fails, skip: fails }));
    const { get } = await serve(app);
    expect([(await get()).status, (await get()).status]).toEqual([404, 429]);
  });

  it('is typed for the request of Express', () => {
    const limiter = rateLimit({ limit: 1, window: '1s', key: ({ raw }) => raw.get('x-api-key') });
    const onRefused = (_: unknown, _req: Request, res: Response) => void res.sendStatus(429);
    expect(spillway([limiter], { onRefused })).toHaveLength(3);
  });
});
