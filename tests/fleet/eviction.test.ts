/** What a full Redis does to limits, by its policy, as docs/operations.md says. */

import { createLimiter, type Decision } from '@spillway/core';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished } from 'vitest';

/** New keys in one go, and how many at most: 4 MB hold some 22,000. */
const BATCH = 2_000;
const MOST = 60_000;

/** Uses up ada's five units, in a Redis of 4 MB. A flood of new keys under a longer window follows. */
async function setUp(policy: string) {
  const { port } = await RedisServer.up();
  const redis = new Redis(port);
  onTestFinished(() => redis.disconnect());
  await redis.config('SET', 'maxmemory', '4mb');
  await redis.config('SET', 'maxmemory-policy', policy);
  const store = redisStore(redis);
  // With a long timeout, and without breaker and denial cache, so the answers are those of Redis.
  const options = {
    storeTimeout: '5s',
    logger: false,
    denialCache: false,
    breaker: false,
  } as const;
  const limiter = (name: string, window: '15m' | '1d') =>
    createLimiter({ name, limit: 5, window }, { store, onStoreError: 'local', ...options });
  const logins = limiter('logins', '15m');
  const pages = limiter('pages', '1d');
  for (let i = 0; i < 5; i += 1) await logins.consume('ada');
  expect(await logins.peek('ada')).toMatchObject({ outcome: 'denied' });
  /** Until something has happened. */
  const flood = async (done: (answers: readonly Decision[]) => boolean | Promise<boolean>) => {
    for (let from = 0; from < MOST; from += BATCH) {
      const keys = Array.from({ length: BATCH }, (_, i) => `new-${from + i}`);
      if (await done(await Promise.all(keys.map((key) => pages.consume(key))))) return true;
    }
    return false;
  };
  return { redis, logins, flood };
}

describe.skipIf(redisProgram === null)('a Redis of 4 MB that a flood of new keys fills', () => {
  it('frees a blocked key under volatile-ttl, and no decision tells of it', async () => {
    const { redis, logins, flood } = await setUp('volatile-ttl');
    const outcomes = new Set<string>();
    const freed = await flood(async (answers) => {
      for (const { outcome } of answers) outcomes.add(outcome);
      return (await logins.peek('ada')).outcome === 'allowed';
    });
    expect(freed).toBe(true);
    expect(outcomes).toEqual(new Set(['allowed']));
    expect(await redis.info('stats')).toMatch(/^evicted_keys:[1-9]/m); // what the alert looks at
  });

  it('keeps every count under noeviction; onStoreError decides until there is room', async () => {
    const { redis, logins, flood } = await setUp('noeviction');
    const failed = (answers: readonly Decision[]) =>
      answers.some(({ outcome }) => outcome === 'error');
    expect(await flood(failed)).toBe(true);
    await redis.config('SET', 'maxmemory', '3mb'); // at the very limit, the memory of buffers would vary
    // A unit cannot be written. The fallback counters know whom this process has admitted.
    expect(await logins.consume('bob')).toMatchObject({ outcome: 'error', allowed: true });
    expect(await logins.consume('ada')).toMatchObject({ allowed: false });
    await redis.config('SET', 'maxmemory', '64mb');
    const outcome = async () => (await logins.consume('ada')).outcome;
    await expect.poll(outcome, { timeout: 10_000 }).toBe('denied');
    expect(await redis.info('stats')).toMatch(/^evicted_keys:0/m);
  });
});
