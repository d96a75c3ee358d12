/** A server that does not know the script is sent its text once, however many slots a group of a Cluster is spread over. */

import { createLimiter } from '@spillway/core';
import { type RedisClient, redisStore } from '@spillway/redis';
import { expect, it } from 'vitest';

it('after SCRIPT FLUSH a full group does not carry the text for each of its slots', async () => {
  let texts = 0;
  let isKnown = false;
  const reply = (keys: readonly string[]) => [Date.now() * 1000, ...keys.map(() => 1)];
  const client: RedisClient = {
    state: 'ready',
    isCluster: true,
    nodeOf: () => 'the only node',
    evalsha: async (_, keys) => {
      if (!isKnown) throw new Error('NOSCRIPT No matching script. Please use EVAL.');
      return reply(keys);
    },
    eval: async (_text, keys) => {
      texts += 1;
      await new Promise(setImmediate);
      isKnown = true;
      return reply(keys);
    },
    onceChanged: () => () => undefined,
  };
  const store = redisStore(client, { logger: false });
  const options = { store, storeTimeout: 10_000, logger: false as const };
  const limiter = createLimiter({ name: 'mail', limit: 60, window: '1m' }, options);
  const keys = Array.from({ length: 1000 }, (_, i) => `k${i}`);
  const { decisions } = await limiter.consumeAll(keys);
  expect(decisions.every(({ outcome }) => outcome === 'allowed')).toBe(true);
  expect(texts).toBeLessThan(5);
});
