/**
 * The event loop stood still for longer than the write of a response may take, and Redis replied meanwhile: the
 * response was considered lost, and no retry ever got it.
 */

import type { IncomingMessage } from 'node:http';
import { idempotency } from '@spillway/core';
import { nodeGuard } from '@spillway/core/node';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { delay } from 'spillway-testkit';
import { serveListener } from 'spillway-testkit/http';
import { redisUrl } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished } from 'vitest';

function standStill(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

describe.skipIf(redisUrl === null)(
  'an answer that was written while the event loop stood still',
  () => {
    it('is given to a repeat', async () => {
      const redis = new Redis(redisUrl as string);
      onTestFinished(() => redis.disconnect());
      await redis.ping();
      const guard = nodeGuard<IncomingMessage>(idempotency({ scope: () => 'ada' }), {
        store: redisStore(redis, { prefix: `stall-${Math.random().toString(36).slice(2)}:` }),
        storeTimeout: '5s',
      });
      let isStalling = false;
      const { port } = await serveListener(async (req, res) => {
        if (!(await guard(req, res))) return;
        res.end('done');
        // After the write was sent, and before its reply can be read.
        if (isStalling) setImmediate(() => standStill(1_100));
        isStalling = false;
      });
      const post = async (key: string): Promise<string> => {
        const headers = { 'Idempotency-Key': key };
        const url = `http://127.0.0.1:${port}/`;
        for (;;) {
          const response = await fetch(url, { method: 'POST', headers });
          const text = await response.text();
          if (!text.includes('Request in progress')) return text;
          await delay(5);
        }
      };
      await post('warm-up'); // Redis learns the scripts
      await post('warm-up');
      isStalling = true;
      expect(await post('key')).toBe('done');
      expect(await post('key')).toBe('done');
    });
  },
);
