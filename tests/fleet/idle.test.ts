/**
 * A process without requests while Redis is away: its probes find Redis again, and its first requests are decided by
 * Redis.
 */

import { type BreakerEvent, createGuard, rateLimit } from '@spillway/core';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished } from 'vitest';

/** After this time without requests, the store is probed less and less often. */
const IDLE_MS = 11_000;
/** The longest pause between two probes, plus time for the client to connect. */
const FOUND_MS = 5_000 + 2_000;

describe.skipIf(redisProgram === null)('an outage through which nobody comes', () => {
  async function idleThrough(name: string) {
    const redis = await RedisServer.up();
    const client = new Redis(redis.url, { socketTimeout: 1_000 });
    client.on('error', () => undefined);
    onTestFinished(() => client.disconnect());
    const events: BreakerEvent[] = [];
    const guard = createGuard(rateLimit({ name, limit: 3, window: '1h', key: 'all' }), {
      store: redisStore(client),
      onStoreError: 'deny',
      logger: false,
      observers: [{ onBreaker: (event) => events.push(event) }],
    });
    const ask = async () => {
      const { status } = await guard.admit({
        method: 'GET',
        path: '/',
        clientIp: '203.0.113.7',
        header: () => undefined,
        raw: undefined,
      });
      return status;
    };
    await expect.poll(ask).toBe(200);
    redis.freeze();
    for (let i = 0; i < 20; i += 1) expect(await ask()).toBe(503);
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    redis.thaw();
    return { ask, events };
  }

  it('is over when Redis is back, also for a limiter named like us', async () => {
    const { ask, events } = await idleThrough('spillway');
    const state = () => events.at(-1)?.state;
    await expect.poll(state, { timeout: FOUND_MS }).toBe('closed');
    // One of three units was taken before. Calls that timed out charged nothing, because they arrived after their
    // deadline.
    expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 429]);
  });

  it('refuses nobody who comes right after it', async () => {
    const { ask } = await idleThrough('api');
    await new Promise((resolve) => setTimeout(resolve, 300)); // Redis is running again
    expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 429]);
  });
});
