/** Nodes of a Cluster whose clocks differ: whether a call is late depends on the clock of the node that gets it. */

import { createLimiter } from '@spillway/core';
import { type RedisClient, redisStore } from '@spillway/redis';
import { expect, it } from 'vitest';

const AHEAD_US = 5_000_000;
const TIMEOUT_US = 1_000_000;

it('a deadline is told to each node on its own clock', async () => {
  const latest = { here: 0, ahead: 0 };
  const nodeOf = (slot: number) => (slot % 2 === 0 ? 'here' : 'ahead');
  const slots = new Map<string, number>();
  const client: RedisClient = {
    state: 'ready',
    isCluster: true,
    // Asked for the slot just before each call.
    nodeOf: (slot) => {
      slots.set('last', slot);
      return nodeOf(slot);
    },
    evalsha: async (_, keys, args) => {
      const node = nodeOf(slots.get('last') ?? 0);
      const nowUs = Date.now() * 1000 + (node === 'ahead' ? AHEAD_US : 0);
      latest[node] = Math.max(latest[node], Number(args[0]) - nowUs);
      return [nowUs, ...keys.map(() => 1)];
    },
    eval: () => Promise.reject(new Error('not asked')),
    onceChanged: () => () => undefined,
  };
  const store = redisStore(client, { logger: false, coalesce: false });
  const limiter = createLimiter(
    { name: 'api', limit: 60, window: '1m' },
    { store, storeTimeout: '1s', logger: false },
  );
  for (let i = 0; i < 50; i += 1) await limiter.consume(`k${i}`);
  // A little more for a busy machine.
  expect(latest.ahead).toBeLessThan(2 * TIMEOUT_US);
  expect(latest.here).toBeLessThan(2 * TIMEOUT_US);
});
