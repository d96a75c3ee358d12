/**
 * A Redis that had become slow, but answered within `storeTimeout`, delayed each request for as long as it was slow: the
 * breaker counted failures only. Here it turns from 1 to 45 ms behind a proxy.
 */

import { type BreakerEvent, createGuard, createLimiter, rateLimit } from '@spillway/core';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { delay, until } from 'spillway-testkit';
import { redisUrl } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { slowProxy } from './slow-proxy.js';

describe.skipIf(redisUrl === null)('a Redis that turns from 1 to 45 ms', () => {
  function setUp(redis: Redis) {
    onTestFinished(() => redis.disconnect());
    const lines: string[] = [];
    const events: BreakerEvent[] = [];
    const settings = {
      store: redisStore(redis, { prefix: `slow-${Math.random().toString(36).slice(2)}:` }),
      storeTimeout: '5s', // a slow call must not fail on a busy machine
      breaker: { slowAfter: '30ms' },
      logger: { warn: (line: string) => void lines.push(line) },
    } as const;
    createGuard(rateLimit({ name: 'watcher', limit: 1, window: '1h' }), {
      ...settings,
      observers: [{ onBreaker: (event) => void events.push(event) }],
    });
    const limiter = createLimiter({ name: 'api', limit: 1_000_000, window: '1h' }, settings);
    return { limiter, lines, events };
  }

  it('is not waited for until it is fast again; a line says which it is', async () => {
    const { hostname, port } = new URL(redisUrl as string);
    const proxy = await slowProxy(hostname, Number(port));
    const { limiter, lines, events } = setUp(new Redis(proxy.port, '127.0.0.1'));
    for (let i = 0; i < 20; i += 1) expect((await limiter.consume('ada')).outcome).toBe('allowed');
    proxy.delayMs = 45;
    await until(async () => (await limiter.consume('ada')).outcome === 'error', 30_000);
    expect(lines).toEqual([expect.stringContaining(' calls in 10 s took longer than 30 ms')]);
    expect(lines[0]).toContain(' is slow (');
    // At once: without a turn of the network.
    const calls = proxy.chunks;
    for (let i = 0; i < 1_000; i += 1) {
      expect((await limiter.consume('ada')).outcome).toBe('error');
    }
    expect(proxy.chunks - calls).toBeLessThan(100); // probes
    proxy.delayMs = 0;
    await until(async () => (await limiter.consume('ada')).outcome === 'allowed', 30_000);
    expect(events.map(({ state, reason }) => `${state} ${reason}`).slice(0, 2)).toEqual([
      'open slow',
      'closed slow',
    ]);
  }, 90_000);

  it('is waited for if not Redis is slow but this process blocks its event loop', async () => {
    // Without the proxy, which would need turns of the same loop.
    const { limiter, events } = setUp(new Redis(redisUrl as string));
    for (let i = 0; i < 60; i += 1) {
      const made = Array.from({ length: 5 }, () => limiter.consume('ada'));
      const endMs = performance.now() + 60;
      while (performance.now() < endMs);
      setImmediate(() => {
        const laterMs = performance.now() + 40;
        while (performance.now() < laterMs);
      });
      await Promise.all(made);
      await delay(1);
    }
    expect(events).toEqual([]);
  }, 60_000);
});
