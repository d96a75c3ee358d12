/** The largest possible groups, sent by one process, don't affect another process. */

import { once } from 'node:events';
import { join } from 'node:path';
import {
  type BreakerEvent,
  createGuard,
  createLimiter,
  rateLimit,
  slidingLog,
} from '@spillway/core';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { checkBuilt, launch } from 'spillway-testkit/processes';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';

const LOOP = join(import.meta.dirname, 'group-loop.js');
const LIMIT = 100;

beforeAll(() => checkBuilt('express'));

describe.skipIf(redisProgram === null)(
  'beside a process that asks for full groups in a loop',
  () => {
    it('the breaker of another process with the default timeout stays shut, and its limits hold', async () => {
      const redis = await RedisServer.up();
      const loop = await launch([process.execPath, LOOP, redis.url], {});
      onTestFinished(() => void loop.process.kill('SIGKILL'));
      let said = '';
      loop.process.stdout?.on('data', (chunk) => {
        said += String(chunk);
      });

      const client = new Redis(redis.url);
      onTestFinished(() => client.disconnect());
      const events: BreakerEvent[] = [];
      const guard = createGuard(
        rateLimit({ name: 'api', limit: LIMIT, window: '1h', key: 'all' }),
        {
          store: redisStore(client),
          denialCache: false,
          observers: [{ onBreaker: (event) => events.push(event) }],
        },
      );
      const outcomes: Record<string, number> = {};
      const until = performance.now() + 4_000;
      while (performance.now() < until) {
        const admission = await guard.admit({
          method: 'GET',
          path: '/',
          clientIp: '203.0.113.7',
          header: () => undefined,
          raw: undefined,
        });
        const outcome = admission.decisions[0]?.outcome ?? 'none';
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      const ended = once(loop.process, 'exit');
      loop.process.kill('SIGTERM');
      await ended;

      const groups = JSON.parse(said.trim().split('\n').at(-1) ?? '{}');
      expect(groups.allowed).toBeGreaterThan(20); // the loop was one
      expect(events).toEqual([]);
      // A call that timed out may have been charged. Then Redis admits one less, never one more.
      const { allowed = 0, denied = 0, error = 0 } = outcomes;
      expect(allowed).toBeLessThanOrEqual(LIMIT);
      expect(allowed).toBeGreaterThanOrEqual(LIMIT - error);
      expect(denied).toBeGreaterThan(50);
      expect(error).toBeLessThan(0.1 * (allowed + denied));
    });

    it.each([
      ['ioredis 6', (url: string) => new Redis(url)],
      ['ioredis 5', (url: string) => new Redis5(url) as unknown as Redis],
    ])(
      'a group of 1,000 keys is one call with %s, whatever the length of its keys',
      async (_, connect) => {
        const redis = await RedisServer.up();
        const client = connect(redis.url);
        onTestFinished(() => client.disconnect());
        const settings = { store: redisStore(client), storeTimeout: '2s' } as const;
        const sms = createLimiter(
          { name: 'sms', limit: 1, window: '1h', algorithm: slidingLog },
          settings,
        );
        const keys = Array.from({ length: 1_000 }, (_, i) => `${i}`.padStart(200, '-'));
        expect((await sms.consumeAll(keys)).binding.outcome).toBe('allowed');
        expect((await sms.consumeAll(keys)).binding.outcome).toBe('denied');
      },
    );
  },
);
