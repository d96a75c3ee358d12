/** When a store announces its limiters, on a simulated Redis: rarely, together, and without delaying anybody. */

import { createGuard, createLimiter, rateLimit } from '@spillway/core';
import { request, stall } from 'spillway-testkit';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type RedisClient, redisStore } from '../../src/index.js';

const LIMITERS = 'spw:{%control}limiters';

/** A client that admits everything; it answers announcements unless `isDeaf`. */
function played() {
  const announced: string[][] = [];
  const resets: string[][] = [];
  const played = { state: 'ready', isDeaf: false, fails: false, codes: '' };
  const call = async (_: string, keys: string[], args: string[]): Promise<unknown> => {
    if (keys[0] !== LIMITERS) {
      resets.push(keys);
      return ['1767225600000000', ...keys.map(() => 1)];
    }
    if (played.isDeaf) return new Promise(() => {});
    if (played.fails) throw new Error('NOPERM no');
    // As control-announce.lua and control-limiters.lua answer.
    if (args.length > 1) announced.push(args);
    return args.length > 1 ? 0 : ['1767225600000', 'api', played.codes];
  };
  const client: RedisClient = {
    get state() {
      return played.state;
    },
    evalsha: call,
    eval: call,
    onceChanged: () => () => {},
  };
  const lines: string[] = [];
  const store = redisStore(client, { logger: { warn: (line) => void lines.push(line) } });
  return { played, announced, resets, store, lines };
}

const api = { name: 'api', limit: 100, window: '1m' } as const;

beforeAll(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  stall(0);
});
afterAll(() => void vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe('a store announces its limiters', () => {
  it('with the first call, all that came within a second together, and again each five minutes', async () => {
    const { announced, store } = played();
    const limiter = createLimiter(api, { store });
    await limiter.consume('ada');
    expect(announced.map((args) => args[2])).toEqual(['api']);
    for (const name of ['b', 'c', 'd']) createLimiter({ ...api, name }, { store });
    await limiter.consume('ada');
    expect(announced).toHaveLength(1);
    await pass(1_000);
    expect(announced).toHaveLength(2);
    expect(announced[1]).toEqual(expect.arrayContaining(['api', 'b', 'c', 'd']));
    await pass(3_600_000);
    expect(announced).toHaveLength(14);
  });

  it('at most once a second, however many codes plans make', async () => {
    const { announced, store } = played();
    let limit = 0;
    const plan = () => {
      limit += 1;
      return { limit };
    };
    const perKey = rateLimit({ ...api, burst: 7, limit: 1, plan });
    const guard = createGuard(perKey, { store });
    for (let i = 0; i < 500; i += 1) {
      await guard.admit(request());
      await pass(10);
    }
    expect(announced.length).toBeGreaterThan(2);
    expect(announced.length).toBeLessThanOrEqual(7);
    // The name and 64 codes make 65 items.
    expect(announced.at(-1)?.[3]).toBe('65');
  });

  it('without anybody waiting for it, and again after a minute if nobody answers', async () => {
    const { played: redis, announced, store, lines } = played();
    redis.isDeaf = true;
    const limiter = createLimiter(api, { store });
    expect((await limiter.consume('ada')).outcome).toBe('allowed');
    await pass(59_000);
    redis.isDeaf = false;
    expect(announced).toHaveLength(0);
    await pass(2_000);
    expect(announced).toHaveLength(1);
    expect(lines).toHaveLength(1);
  });

  it('once the client is ready', async () => {
    const { played: redis, announced, store, lines } = played();
    redis.state = 'reconnecting';
    createLimiter(api, { store });
    await pass(30_000);
    redis.state = 'ready';
    expect(announced).toHaveLength(0);
    await pass(1_000);
    expect(announced).toHaveLength(1);
    expect(lines).toEqual([]);
  });

  it('and tells once a minute, no more, that Redis does not take it', async () => {
    const { played: redis, store, lines } = played();
    redis.fails = true;
    const limiter = createLimiter(api, { store });
    await limiter.consume('ada');
    for (let i = 0; i < 100; i += 1) await limiter.reset('ada');
    await pass(600_000);
    expect(lines.length).toBeGreaterThan(5);
    expect(lines.length).toBeLessThanOrEqual(11);
  });
});

describe('a reset on Redis', () => {
  it('has a step for each of its own codes at once, then for each that others have noted', async () => {
    const { played: redis, resets, store } = played();
    redis.codes = '1 {"limit":1} 1 b3 1 b4 1 !followed 1 later:code 1';
    await createLimiter(api, { store }).reset('ada');
    expect(resets.map((keys) => keys.length)).toEqual([1, 3]);
  });

  it('takes half of its time, at most, for the question what to reset', async () => {
    const { played: redis, store } = played();
    redis.isDeaf = true;
    const done = vi.fn();
    const limiter = createLimiter(api, { store, storeTimeout: '40ms', logger: false });
    const reset = Promise.resolve(limiter.reset('ada')).then(done);
    await pass(15);
    expect(done).not.toHaveBeenCalled();
    await pass(6);
    // The fake clock stands still from here on, so the call has all that is left of the deadline.
    await reset;
  });
});
