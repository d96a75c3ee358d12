/** Costs known only afterwards, in Redis: how many calls a request takes, and what two processes count together. */

import {
  type Admission,
  calendar,
  concurrencyLimit,
  createGuard,
  createLimiter,
  meter,
  rateLimit,
  type UnitsEvent,
} from '@spillway/core';
import { Redis } from 'ioredis';
import { request, until } from 'spillway-testkit';
import { type RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { redisStore } from '../src/index.js';

const key = () => 'ada';

describe.skipIf(redisProgram === null)('in Redis', () => {
  let server: RedisServer;
  let client: Redis;
  beforeAll(async () => {
    server = await startServer();
    client = new Redis(server.port);
  });
  afterAll(async () => {
    client.disconnect();
    await server.kill();
  });
  beforeEach(async () => {
    await client.flushall();
  });

  async function scriptCalls(): Promise<number> {
    const stats = await client.info('commandstats');
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  }

  function setUp() {
    const store = redisStore(client);
    const events: UnitsEvent[] = [];
    const rows = meter({ reserve: () => 40, atLeast: () => 40 });
    const cost = rows.cost((n) => n);
    const guard = createGuard(
      [
        rateLimit({ name: 'rows', limit: 100, window: '1d', key, cost }),
        rateLimit({ name: 'month', limit: 1_000, window: calendar('month'), key, cost }),
        rateLimit({ name: 'calls', limit: 9, window: '1d', key, refundIf: () => true }),
        concurrencyLimit({ name: 'at-once', limit: 9, key: 'all' }),
      ],
      { store, storeTimeout: '10s', observers: [{ onUnits: (event) => events.push(event) }] },
    );
    const admit = async (): Promise<Admission> => guard.admit(request());
    const limiter = createLimiter(
      { name: 'rows', limit: 100, window: '1d', cost },
      { store, storeTimeout: '10s' },
    );
    return { guard, rows, admit, events, limiter };
  }

  it('a request takes one script call at admission and one at its end, with its permits and refunds', async () => {
    const { rows, admit, limiter, guard } = setUp();
    await (await admit()).release({});
    await client.flushall();
    await client.config('RESETSTAT');
    const admission = await admit();
    expect(await scriptCalls()).toBe(1);
    expect(rows.of(admission).settle(150)).toBe(true);
    await admission.release({ status: 200 });
    expect(await scriptCalls()).toBe(2);
    expect(guard.inProgress).toBe(0);
    expect(await limiter.peek('ada')).toMatchObject({ used: 150, remaining: 0 });
    expect(rows.of(admission).snapshot()).toMatchObject({
      rows: { charged: 150, estimated: false },
      month: { charged: 150, remaining: 850, estimated: false },
    });
  });

  it('one that is cut takes one more for its late settlement', async () => {
    const { rows, admit, limiter } = setUp();
    const admission = await admit();
    await admission.release({ aborted: true });
    await client.config('RESETSTAT');
    expect(rows.of(admission).settle(10)).toBe(true);
    await until(async () => (await scriptCalls()) === 1);
    expect(await limiter.peek('ada')).toMatchObject({ used: 10 });
    expect(rows.of(admission).settle(10)).toBe(false);
  });

  it('what is owed beyond the limit and the debt is forgiven, and told', async () => {
    const { rows, admit, events, limiter } = setUp();
    const admission = await admit();
    const { signal } = rows.of(admission);
    rows.of(admission).settle(4_096);
    await admission.release({ status: 200 });
    expect(await limiter.peek('ada')).toMatchObject({ used: 200 });
    const forgiven = events.filter(({ kind }) => kind === 'forgiven');
    expect(forgiven).toEqual([
      { limiter: 'rows', kind: 'forgiven', units: 4_096 - 200 },
      { limiter: 'month', kind: 'forgiven', units: 4_096 - 2_000 },
    ]);
    expect(signal.aborted).toBe(true);
  });

  it('a limiter without HTTP reserves and settles', async () => {
    const { rows, limiter } = setUp();
    const decision = await limiter.consume('eve', { cost: rows.reserve(30) });
    expect(decision).toMatchObject({ allowed: true, cost: 40 });
    expect(await limiter.settle(decision, 130)).toBe(true);
    expect(await limiter.settle(decision, 1)).toBe(false);
    expect(await limiter.consume('eve')).toMatchObject({ allowed: false, used: 130 });
  });
});
