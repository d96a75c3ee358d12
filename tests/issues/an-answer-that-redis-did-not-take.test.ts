/** A response that could not be written to Redis is written again, as long as its process lives. */

import type { IncomingMessage } from 'node:http';
import { type Fault, idempotency } from '@spillway/core';
import { nodeGuard } from '@spillway/core/node';
import { readIdempotencyKey } from '@spillway/core/store';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { until } from 'spillway-testkit';
import { serveListener } from 'spillway-testkit/http';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished } from 'vitest';

const KEYS = Array.from({ length: 12 }, (_, at) => `key-${at}`);

async function setUp() {
  const server = await RedisServer.up();
  const redis = new Redis(server.url, { retryStrategy: () => 300 });
  redis.on('error', () => undefined);
  onTestFinished(() => redis.disconnect());
  await redis.ping();
  const store = redisStore(redis);
  const faults: Fault[] = [];
  const once = idempotency<IncomingMessage>({ scope: () => 'ada', lease: '3s' });
  const guard = nodeGuard(once, { store, logger: false, onFault: (fault) => faults.push(fault) });
  let answer = (): void => undefined;
  const isToAnswer = new Promise<void>((resolve) => {
    answer = resolve;
  });
  let runs = 0;
  const { port } = await serveListener(async (req, res) => {
    if (!(await guard(req, res))) return;
    runs += 1;
    for await (const _ of req);
    await isToAnswer;
    res.end(`done ${req.headers['idempotency-key']}`);
  });
  const post = async (key: string): Promise<string> => {
    const init = { method: 'POST', body: '{}', headers: { 'Idempotency-Key': key } };
    const response = await fetch(`http://127.0.0.1:${port}/charges`, init);
    const text = response.status === 200 ? ` ${await response.text()}` : '';
    return `${response.status}${text} ${response.headers.get('idempotency-replayed')}`;
  };
  const areMarked = async (): Promise<boolean> => {
    const names = KEYS.map((key) => ({ limiter: 'once', scope: 'ada', key }));
    const read = async (name: (typeof names)[number]) =>
      (await readIdempotencyKey(store, name)).state;
    const states = await Promise.all(names.map(read)).catch(() => ['not connected yet']);
    return states.every((state) => state === 'done');
  };
  return { server, redis, faults, post, areMarked, answer, runs: () => runs };
}

describe.skipIf(redisProgram === null)(
  'the answers of requests during which Redis was killed',
  () => {
    it('are given to repeats, and no handler runs again', async () => {
      const { server, redis, faults, post, areMarked, answer, runs } = await setUp();
      const firsts = KEYS.map(post);
      await until(() => runs() === KEYS.length);
      await server.kill();
      await until(() => redis.status === 'reconnecting'); // what was sent before, the client would send again
      answer();
      expect(await Promise.all(firsts)).toEqual(KEYS.map((key) => `200 done ${key} null`));
      await until(() => faults.length >= KEYS.length); // not one could be written
      await server.start();
      await until(areMarked);
      // On a busy machine, the server may close idle connections while they are used again.
      const repeats = () => Promise.all(KEYS.map(post)).catch(() => []);
      const expected = KEYS.map((key) => `200 done ${key} true`);
      await until(async () => (await repeats()).join() === expected.join());
      expect(runs()).toBe(KEYS.length);
    });
  },
);
