/** Distinct values on Redis: what is stored, how large it is, and what makes it grow. */

import { createLimiter, type Decision, distinct, type Step } from '@spillway/core';
import { makeDistinctRule } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { Redis } from 'ioredis';
import { type RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { redisStore } from '../src/index.js';
import { redisStoreAt } from '../src/testing.js';

const NAME = 'spw:1{ada}cards}d1njchs0';
const options = { name: 'cards', limit: 100, window: '1h', algorithm: distinct() } as const;

describe.skipIf(redisProgram === null)('different things on Redis', () => {
  let server: RedisServer;
  let client: Redis;

  beforeAll(async () => {
    server = await startServer();
    client = new Redis(server.port);
  });
  afterAll(async () => {
    client.disconnect();
    await server.kill();
  });
  beforeEach(async () => void (await client.flushall()));

  it('are one string of 23 bytes each, and one more', async () => {
    const limiter = createLimiter(options, { store: redisStore(client), storeTimeout: '20s' });
    for (let at = 0; at < 100; at += 1) await limiter.consume('ada', { item: `card ${at}` });
    expect(await client.keys('*')).toContain(NAME);
    expect(await client.strlen(NAME)).toBe(1 + 100 * 23);
    expect(await client.pttl(NAME)).toBeGreaterThan(3_590_000);
  });

  it.each([
    [1, 112],
    [10, 336],
    [100, 2_700],
  ])('take at most so many bytes: %i of a key %i', async (count, most) => {
    const limiter = createLimiter(options, { store: redisStore(client), storeTimeout: '20s' });
    const item = Array.from({ length: count }, (_, at) => at);
    await limiter.consume('ada', { item });
    expect(await client.memory('USAGE', NAME)).toBeLessThanOrEqual(most);
  });

  it('are not written by a rejection, by a look, or by a repeat after the first', async () => {
    const limiter = createLimiter(
      { ...options, limit: 1 },
      { store: redisStore(client), storeTimeout: '20s' },
    );
    await limiter.consume('ada', { item: 'a' });
    await limiter.consume('ada', { item: 'a' });
    const stored = await client.getBuffer(NAME);
    const writes = async () =>
      Number(/cmdstat_set:calls=(\d+)/.exec(await client.info('commandstats'))?.[1]);
    const before = await writes();
    for (const item of ['a', 'b', ['a', 'b']]) await limiter.consume('ada', { item });
    await limiter.peek('ada', { item: 'c' });
    expect(await client.getBuffer(NAME)).toEqual(stored);
    expect(await writes()).toBe(before);
  });

  it('cost Redis about as much if 100 are repeated or refunded as if 100 are rejected', async () => {
    const limiter = createLimiter(
      { ...options, limit: 10_000 },
      { store: redisStore(client), storeTimeout: '20s' },
    );
    const hundred = (from: number) => Array.from({ length: 100 }, (_, at) => from + at);
    const shortest = async (run: (at: number) => Promise<unknown>) => {
      const us: number[] = [];
      for (let at = 0; at < 5; at += 1) {
        await client.config('RESETSTAT');
        await run(at);
        const calls = (await client.info('commandstats')).matchAll(/cmdstat_eval.*?,usec=(\d+)/g);
        us.push(Math.max(...[...calls].map(([, time]) => Number(time))));
      }
      return Math.min(...us);
    };
    const decisions: Decision[] = [];
    for (let from = 0; from < 10_000; from += 100) {
      decisions.push(await limiter.consume('ada', { item: hundred(from) }));
    }
    const rejected = await shortest(() => limiter.consume('ada', { item: hundred(10_000) }));
    const repeated = await shortest((at) => limiter.consume('ada', { item: hundred(at * 100) }));
    const refunded = await shortest((at) => limiter.refund(decisions.at(-1 - at) as Decision));
    expect((await limiter.peek('ada')).used).toBe(9_500);
    expect(repeated).toBeLessThan(8 * rejected);
    expect(refunded).toBeLessThan(8 * rejected);
  });

  it('are an error if another program has stored something there', async () => {
    const rule = makeDistinctRule(100, 3_600_000_000);
    const step: Step = { op: 'take', limiter: 'cards', key: 'ada', rule, cost: 1, binding: true };
    const store = redisStoreAt(client, new ManualClock());
    for (const text of ['1short', `2${'x'.repeat(23)}`]) {
      await client.set(NAME, text);
      await expect(store.apply([step])).rejects.toThrow('not one of this format');
    }
  });

  it('pass exactly so often from many calls at once', async () => {
    const limiter = createLimiter(options, { store: redisStore(client), storeTimeout: '20s' });
    const calls = Array.from({ length: 300 }, (_, at) =>
      limiter.consume('ada', { item: at % 150 }),
    );
    const passed = (await Promise.all(calls)).filter(({ allowed }) => allowed);
    expect(passed).toHaveLength(200);
    expect((await limiter.peek('ada')).used).toBe(100);
  });
});
