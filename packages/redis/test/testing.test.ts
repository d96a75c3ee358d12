/** The store for tests: everything that depends on time follows the clock that the test passes. */

import { createGuard, createLimiter, rateLimit } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { Redis } from 'ioredis';
import { type RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { redisStoreAt } from '../src/testing.js';

describe.skipIf(redisProgram === null)('a Redis store on a clock of the test', () => {
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
  beforeEach(() => client.flushall());

  const numbers = { name: 'one', limit: 1, window: '1m' } as const;

  it('admits a key that was refused once the clock was moved to the promised moment', async () => {
    const clock = new ManualClock();
    const limiter = createLimiter(numbers, { store: redisStoreAt(client, clock) });
    await limiter.consume('ada');
    expect(await limiter.consume('ada')).toMatchObject({ allowed: false, retryAfterMs: 60_000 });
    clock.advance(59_999.999);
    expect(await limiter.consume('ada')).toMatchObject({ allowed: false, retryAfterMs: 0.001 });
    clock.advance(0.001);
    expect((await limiter.consume('ada')).allowed).toBe(true);
  });

  it('does so behind a guard', async () => {
    const clock = new ManualClock();
    const guard = createGuard(rateLimit(numbers), { store: redisStoreAt(client, clock) });
    const admit = async () =>
      (
        await guard.admit({
          method: 'GET',
          path: '/',
          clientIp: '203.0.113.7',
          header: () => undefined,
          raw: undefined,
        })
      ).allowed;
    expect([await admit(), await admit(), await admit()]).toEqual([true, false, false]);
    clock.advance('1m');
    expect(await admit()).toBe(true);
  });
});
