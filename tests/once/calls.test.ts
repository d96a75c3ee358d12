/** How often a guard with idempotency keys asks a real Redis, as that counts it. */

import type { IncomingMessage } from 'node:http';
import { concurrencyLimit, idempotency, rateLimit } from '@spillway/core';
import { nodeGuard } from '@spillway/core/node';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { until } from 'spillway-testkit';
import { serveListener } from 'spillway-testkit/http';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished } from 'vitest';

async function setUp() {
  const { url } = await RedisServer.up();
  const redis = new Redis(url);
  onTestFinished(() => redis.disconnect());
  await redis.ping();
  const key = () => 'ada';
  const guard = nodeGuard<IncomingMessage>(
    [
      idempotency({ scope: key }),
      concurrencyLimit({ name: 'at-once', limit: 9, key }),
      rateLimit({ name: 'second', limit: 9, window: '1s', burst: 1_000, key }),
      rateLimit({ name: 'hour', limit: 9_000, window: '1h', key }),
    ],
    { store: redisStore(redis), storeTimeout: '5s' },
  );
  const { port } = await serveListener(async (req, res) => {
    if (!(await guard(req, res))) return;
    for await (const _ of req);
    res.end('done');
  });
  const post = async (idempotencyKey: string): Promise<string> => {
    const headers = { 'Idempotency-Key': idempotencyKey };
    const init = { method: 'POST', body: '{}', headers };
    const response = await fetch(`http://127.0.0.1:${port}/charges`, init);
    return `${response.status} ${await response.text()}`;
  };
  const scripts = async (): Promise<number> => {
    const stats = await redis.info('commandstats');
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  };
  return { redis, post, scripts };
}

describe.skipIf(redisProgram === null)(
  'the script calls of a request with an idempotency key',
  () => {
    it('are one to admit it, one for its answer, and one for all that ends', async () => {
      const { post, scripts } = await setUp();
      await post('warm-up'); // loads the scripts
      await post('warm-up');
      await until(async () => (await scripts()) >= 5);
      const before = await scripts();
      expect(await post('key-1')).toBe('200 done');
      await until(async () => (await scripts()) === before + 3);
      expect(await post('key-1')).toBe('200 done');
      expect(await scripts()).toBe(before + 5); // one to ask, one for the answer
    });

    it('leave nothing behind but the claim, the answer and the counts', async () => {
      const { redis, post } = await setUp();
      await post('key-1');
      await until(async () => (await redis.zcard('spw:{ada}at-once}p')) === 0);
      const names = await redis.keys('spw:{ada}once}*');
      expect(names).toHaveLength(2);
      for (const name of names) expect(await redis.pttl(name)).toBeGreaterThan(86_000_000);
      expect(names.join()).not.toContain('key-1');
    });
  },
);
