/** The prefix of all key names. Stores and controls with different prefixes never meet on one server. */

import { createGuard, createLimiter, rateLimit } from '@spillway/core';
import { Redis } from 'ioredis';
import { request } from 'spillway-testkit';
import { ada } from 'spillway-testkit/control';
import { type RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { redisControl, redisStore } from '../src/index.js';

const lazy = () => new Redis({ lazyConnect: true });

describe('a prefix', () => {
  it.each(['a', 'spw:', 'A-Z.a_z,0:9', 'p'.repeat(32)])('may be %s', (prefix) => {
    const control = redisControl(lazy(), { prefix });
    onTestFinished(() => control.close());
    redisStore(lazy(), { prefix });
  });

  it.each(['', 'p'.repeat(33), 'a{b', '}', 'a b', 'a*', 'é', 'a\n', '~', null, 5, ['a']])(
    'is not %j',
    (prefix) => {
      for (const make of [redisStore, redisControl]) {
        expect(() => make(lazy(), { prefix: prefix as string })).toThrow('SPW_OPTION_INVALID');
      }
    },
  );
});

describe.skipIf(redisProgram === null)('two prefixes on one server', () => {
  let server: RedisServer;
  let redis: Redis;
  beforeAll(async () => {
    server = await startServer();
    redis = new Redis(server.port);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.kill();
  });
  beforeEach(async () => void (await redis.flushall()));

  function world(prefix: string | undefined) {
    const store = redisStore(redis, { prefix });
    const control = redisControl(redis, { prefix });
    onTestFinished(() => control.close());
    const limit = { name: 'api', limit: 1, window: '1h' } as const;
    const limiter = createLimiter(limit, { store, denialCache: false, storeTimeout: '5s' });
    const guard = createGuard(rateLimit({ ...limit, key: () => 'eve' }), { store, control });
    return { limiter, control, guard };
  }

  // One is the beginning of the other, and of what follows the default.
  it.each([
    ['a:', 'b:'],
    ['a', 'a:'],
    [undefined, 'spw'],
  ])('never meet: %s and %s', async (first, second) => {
    const [one, two] = [world(first), world(second)];
    expect((await one.limiter.consume('ada')).allowed).toBe(true);
    expect((await two.limiter.consume('ada')).allowed).toBe(true);
    await one.limiter.reset('ada');
    expect((await one.limiter.peek('ada')).allowed).toBe(true);
    expect((await two.limiter.peek('ada')).allowed).toBe(false);

    await one.control.set('api', { mode: 'off' }, ada);
    await one.control.block('api', 'eve', ada);
    expect([await two.control.list(), await two.control.history()]).toEqual([[], []]);
    await two.control.refresh();
    expect(two.control.settingsOf('api')).toBeUndefined();
    await two.guard.admit(request());
    await expect.poll(() => two.control.limiters()).toHaveLength(1);

    const names = await redis.keys('*');
    const [own, other] = [first, second].map((prefix = 'spw:') =>
      names
        .filter((name) => name.startsWith(prefix) && /^1?\{/.test(name.slice(prefix.length)))
        .map((name) => name.slice(prefix.length)),
    ) as [string[], string[]];
    expect(own.length + other.length).toBe(names.length);
    expect(own).toEqual(
      expect.arrayContaining(
        ['settings', 'revision', 'history'].map((name) => `{%control}${name}`),
      ),
    );
    expect(other).not.toContain('{%control}settings');
    expect(other).toContain('{%control}limiters');
  });
});
