/**
 * After a stall of the event loop, or of Redis, late releases and refunds still take effect: only charges can be too
 * late.
 */

import { type LeasesAnswer, makeLeasesRule, makeRule, systemClock } from '@spillway/core/store';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { expect, it, onTestFinished } from 'vitest';

it.skipIf(redisProgram === null)(
  'a release that meets Redis after its deadline frees its permit',
  async () => {
    const { port } = await RedisServer.up();
    const redis = new Redis(port);
    onTestFinished(() => redis.disconnect());
    const store = redisStore(redis);
    const rule = makeLeasesRule(5, 60_000_000);
    const step = (op: 'take' | 'put' | 'look', id: string) =>
      ({
        op,
        limiter: 'two',
        key: 'ada',
        rule,
        cost: 1,
        binding: true,
        lease: { id, critical: false },
      }) as const;
    await store.apply([step('take', 'a')]);
    await store.apply([step('take', 'b')]);

    // All three share a script call that arrives long after the deadline of the take.
    const deadlineUs = systemClock.nowUs() + 5_000;
    const late = store.apply([step('take', 'c')], { deadlineUs });
    const released = store.apply([step('put', 'a')]);
    const other = store.apply([step('put', 'b')]);
    const end = performance.now() + 50;
    while (performance.now() < end);

    await expect(late).rejects.toMatchObject({ code: 'SPW_STORE_TIMEOUT' });
    expect((await released)[0]).toMatchObject({ allowed: true });
    expect((await other)[0]).toMatchObject({ allowed: true });
    const [look] = await store.apply([step('look', 'x')]);
    expect((look as LeasesAnswer).used).toBe(0);
  },
);

it.skipIf(redisProgram === null)(
  'so does one beside a refund of nothing, where Redis comes to it too late for a take',
  async () => {
    const { port } = await RedisServer.up();
    const redis = new Redis(port);
    const other = new Redis(port);
    onTestFinished(() => {
      redis.disconnect();
      other.disconnect();
    });
    const store = redisStore(redis);
    const count = { limiter: 'two', key: 'ada', cost: 1, binding: true } as const;
    const permit = {
      ...count,
      rule: makeLeasesRule(5, 60_000_000),
      lease: { id: 'a', critical: false },
    };
    const units = { ...count, rule: makeRule('token-bucket', 5, 60_000_000) };
    await store.apply([{ ...permit, op: 'take' }]);

    // All share a script call, which Redis gets in time and runs long after the deadline of the take.
    await other.client('PAUSE', 300);
    const take = store.apply([{ ...units, op: 'take', key: 'bob' }], {
      deadlineUs: systemClock.nowUs() + 100_000,
    });
    const released = store.apply([
      { ...units, op: 'put', cost: 0 },
      { ...permit, op: 'put' },
    ]);
    const nothing = store.apply([{ ...units, op: 'put', cost: 0 }]);
    await expect(take).rejects.toMatchObject({ code: 'SPW_STORE_TIMEOUT' });
    expect((await released).map(({ allowed }) => allowed)).toEqual([false, true]);
    expect((await nothing)[0]).toMatchObject({ allowed: false });
  },
);
