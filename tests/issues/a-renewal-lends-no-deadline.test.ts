/** A renewal has a late deadline, which a decision in the same turn of the event loop must not inherit. */

import { type LeasesAnswer, makeLeasesRule, systemClock } from '@spillway/core/store';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { expect, it, onTestFinished } from 'vitest';

const rule = makeLeasesRule(5, 60_000_000);

function step(op: 'take' | 'record' | 'look', id: string) {
  const lease = { id, critical: false };
  return { op, limiter: 'two', key: 'ada', rule, cost: 1, binding: true, lease } as const;
}

it.skipIf(redisProgram === null)(
  'what Redis comes to after its own deadline charges nothing, though a renewal was asked beside it',
  async () => {
    const server = await RedisServer.up();
    const redis = new Redis(server.port);
    onTestFinished(() => redis.disconnect());
    const store = redisStore(redis);
    await store.apply([step('take', 'a')]);

    server.freeze();
    const nowUs = systemClock.nowUs();
    const inBackground = { deadlineUs: nowUs + 10_000_000, background: true };
    const renewal = store.apply([step('record', 'a')], inBackground);
    const late = store.apply([step('take', 'b')], { deadlineUs: nowUs + 30_000 });
    const gone = store.apply([step('record', 'c')], {
      ...inBackground,
      deadlineUs: nowUs + 30_000,
    });
    const settled = Promise.allSettled([late, gone]);
    await new Promise((resolve) => setTimeout(resolve, 100));
    server.thaw();

    expect((await renewal)[0]).toMatchObject({ allowed: true });
    const failure = { status: 'rejected', reason: { code: 'SPW_STORE_TIMEOUT' } };
    expect(await settled).toMatchObject([failure, failure]);
    const [look] = await store.apply([step('look', 'x')]);
    expect((look as LeasesAnswer).used).toBe(1);
  },
);
