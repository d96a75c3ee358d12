/** How often a guard with idempotency keys calls a real Redis, as Redis counts. */

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
      rateLimit({
        name: 'second',
        limit: 9,
        window: '1s',
        burst: 1_000,
        key,
        refundIf: () => true,
      }),
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
  return { redis, post };
}

/** Records, for each script call on the server from now on, the limiters of its keys; `value` for a stored response. */
async function callsOn(redis: Redis): Promise<readonly string[]> {
  const monitor = await redis.monitor();
  onTestFinished(() => monitor.disconnect());
  const calls: string[] = [];
  monitor.on('monitor', (_time: string, [command = '', , count, ...args]: string[]) => {
    if (!/^evalsha$/i.test(command)) return;
    const keys = args.slice(0, Number(count));
    calls.push(keys.map((key) => (/}v#/.test(key) ? 'value' : key.split('}')[1])).join());
  });
  return calls;
}

describe.skipIf(redisProgram === null)(
  'the script calls of a request with an idempotency key',
  () => {
    it('are one to admit it with three limits, one to keep its answer, and then one for all that ends', async () => {
      const { redis, post } = await setUp();
      await post('warm-up'); // Redis learns the scripts
      await until(async () => (await post('warm-up')) === '200 done');
      await until(async () => (await redis.zcard('spw:1{ada}at-once}p')) === 0);
      const calls = await callsOn(redis);
      expect(await post('key-1')).toBe('200 done');
      await until(() => calls.length === 3);
      const all = 'once,at-once,second,hour';
      const ends = 'once,at-once,second'; // the response is there: a permit and a refund
      expect(calls).toEqual([all, 'value', ends]);
      expect(await post('key-1')).toBe('200 done');
      await until(() => calls.length === 5);
      expect(calls.slice(3)).toEqual([all, 'value']);
    });

    it('leave nothing behind but the claim, the answer and the counts', async () => {
      const { redis, post } = await setUp();
      await post('key-1');
      await until(async () => (await redis.zcard('spw:1{ada}at-once}p')) === 0);
      const names = await redis.keys('spw:1{ada}once}*');
      expect(names).toHaveLength(2);
      for (const name of names) expect(await redis.pttl(name)).toBeGreaterThan(86_000_000);
      expect(names.join()).not.toContain('key-1');
    });
  },
);
