/** Several limits as one decision in Redis: one script call, all or nothing, and the first alternative that passes. */

import { createLimiters, slidingLog } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { Redis } from 'ioredis';
import { redisUrl } from 'spillway-testkit/redis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { redisStoreAt } from '../src/testing.js';

describe.skipIf(redisUrl === null)('several limits in Redis', () => {
  let client: Redis;
  beforeAll(async () => {
    client = new Redis(redisUrl ?? '');
    await client.ping();
  });
  afterAll(() => client.disconnect());

  function setUp() {
    const clock = new ManualClock();
    const store = redisStoreAt(client, clock);
    const limiters = createLimiters(
      {
        customer: { limit: 10, window: '10s' },
        carrier: { limit: 2, window: '1s', algorithm: slidingLog },
      },
      { store, storeTimeout: '10s' },
    );
    const run = Math.random();
    const via = (carrier: string) => ({ customer: `c-${run}`, carrier: `${carrier}-${run}` });
    const used = async (carrier: string) => {
      const { decisions } = await limiters.peek(via(carrier));
      return [decisions.customer.used, decisions.carrier.used];
    };
    return { clock, store, limiters, via, used };
  }

  it('charges all or none in one call, and gives back in one', async () => {
    const { store, limiters, via, used } = setUp();
    const apply = vi.spyOn(store, 'apply');
    const sent = await limiters.consume(via('x'), { cost: 2 });
    expect(sent).toMatchObject({ allowed: true, binding: { limiter: 'carrier', remaining: 0 } });
    expect(await limiters.consume(via('x'))).toMatchObject({ allowed: false });
    expect(await used('x')).toEqual([2, 2]);
    expect(await limiters.refund(sent, { cost: 1 })).toBe(true);
    expect(await limiters.refund(sent)).toBe(false);
    expect(await used('x')).toEqual([1, 1]);
    expect(apply).toHaveBeenCalledTimes(5);
  });

  it('charges the first alternative that passes, and no other', async () => {
    const { clock, limiters, via, used } = setUp();
    const alternatives = [via('x'), via('y')];
    const taken = [];
    for (let i = 0; i < 5; i += 1) taken.push(await limiters.consumeFirst(alternatives));
    expect(taken.map(({ alternative }) => alternative)).toEqual([0, 0, 1, 1, -1]);
    expect(taken[4]?.binding).toMatchObject({ limiter: 'carrier', retryAfterMs: 1000 });
    expect([await used('x'), await used('y')]).toEqual([
      [4, 2],
      [4, 2],
    ]);
    expect(await limiters.refund(taken[2] as (typeof taken)[0])).toBe(true);
    expect(await limiters.consumeFirst(alternatives)).toMatchObject({ alternative: 1 });
    clock.advance('1s');
    expect(await limiters.consumeFirst(alternatives)).toMatchObject({ alternative: 0 });
  });
});
