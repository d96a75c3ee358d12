/** A Redis stands still for a moment, at a limit that is 60 % used: permits that nobody holds reject nobody. */

import { concurrencyLimit, createGuard, fleetShedder, type LimitRequest } from '@spillway/core';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { expect, it, onTestFinished } from 'vitest';

const EVERY_MS = 20;
const HANDLER_MS = 500;

const request: LimitRequest = {
  method: 'GET',
  path: '/',
  clientIp: undefined,
  header: () => undefined,
  raw: undefined,
};

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const LIMITS = {
  'a limit on concurrent requests': () =>
    concurrencyLimit({ name: 'shared', limit: 40, key: 'all' }),
  'a fleet shedder': () => fleetShedder({ name: 'shared', capacity: 40, reserve: 0 }),
};

it.skipIf(redisProgram === null).each(Object.entries(LIMITS))(
  'after 1.5 s of silence %s refuses none of those who keep within it',
  async (_, limit) => {
    const server = await RedisServer.up();
    const redis = new Redis(server.port);
    onTestFinished(() => redis.disconnect());
    const changes: string[] = [];
    const guard = createGuard(limit(), {
      store: redisStore(redis),
      logger: false,
      observers: [{ onBreaker: ({ state }) => changes.push(state) }],
    });
    const outcomes: string[] = [];
    const serve = async () => {
      const admission = await guard.admit(request);
      outcomes.push(admission.decisions[0]?.outcome ?? 'none');
      await wait(HANDLER_MS);
      admission.release({ status: 200 });
    };
    const arrivals = setInterval(() => void serve(), EVERY_MS);
    onTestFinished(() => clearInterval(arrivals));
    await expect.poll(() => guard.inProgress).toBeGreaterThan(15);

    server.freeze();
    await wait(1_500);
    server.thaw();
    await expect.poll(() => changes.at(-1)).toBe('closed');
    expect(outcomes).toContain('error'); // the outage was one
    outcomes.length = 0;
    await expect
      .poll(() => outcomes.filter((outcome) => outcome === 'allowed').length)
      .toBeGreaterThan(150);
    clearInterval(arrivals);
    expect(outcomes).not.toContain('denied');

    await expect.poll(() => guard.inProgress).toBe(0);
    await guard.close();
    for (const key of await redis.keys('spw:*')) {
      if ((await redis.type(key)) === 'zset') expect(await redis.zcard(key)).toBe(0);
    }
  },
);
