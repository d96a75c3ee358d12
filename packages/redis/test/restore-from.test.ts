/** `restoreFrom` on Redis: processes share a quota, and Redis loses its data in the middle of the month. */

import { calendar, createLimiter, type Fault, restoreFrom } from '@spillway/core';
import { Redis } from 'ioredis';
import { until } from 'spillway-testkit';
import { type RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Ioredis } from '../src/clients/ioredis.js';
import { type RedisClient, redisStore } from '../src/index.js';

const LIMIT = 200;

describe.skipIf(redisProgram === null)('a quota on a Redis that loses its data', () => {
  let server: RedisServer;
  const clients: Redis[] = [];

  beforeAll(async () => {
    server = await startServer();
    for (let at = 0; at < 4; at += 1) clients.push(new Redis(server.port));
  });
  afterAll(async () => {
    for (const client of clients) client.disconnect();
    await server.kill();
  });

  it.each(['ada', '__proto__', 'a\0b {x} %'])(
    'is restored by one of four processes: %j',
    async (key) => {
      let admitted = 0;
      let loads = 0;
      const faults: unknown[] = [];
      const limiters = clients.map((client) => {
        const store = redisStore(client);
        const restoring = restoreFrom(
          {
            quota: async () => {
              loads += 1;
              return admitted;
            },
          },
          { store, onFault: ({ error }) => faults.push(error) },
        );
        return createLimiter(
          { name: 'quota', limit: LIMIT, window: calendar('month') },
          { store, storeTimeout: '20s', observers: [restoring], logger: false },
        );
      });
      const use = (times: number) =>
        Promise.all(
          Array.from({ length: times }, async (_, at) => {
            const decision = await limiters[at % 4]?.consume(key);
            if (decision?.allowed) admitted += 1;
          }),
        );
      await use(126);
      await until(() => loads === 1);
      // Enough rounds for all of the observers' calls to be answered.
      for (let round = 0; round < 6; round += 1) await use(4);
      await clients[0]?.flushall();
      const before = admitted;
      await until(async () => {
        await use(4);
        return loads === 2;
      });
      // The decisions of the first turn counted from 0, and the records contain some of them when they are loaded.
      await until(async () => ((await limiters[0]?.peek(key))?.used ?? 0) > before);
      await use(300);
      expect(admitted).toBeGreaterThanOrEqual(LIMIT);
      expect(admitted).toBeLessThanOrEqual(LIMIT + 20);
      expect((await limiters[0]?.peek(key))?.used).toBe(LIMIT);
      expect([loads, faults]).toEqual([2, []]);
      const client = clients[0] as Redis;
      const marks = (await client.keys('*')).filter((name) => name.includes('quota.restored'));
      const ends = await Promise.all(marks.map((name) => client.pttl(name)));
      const { resetMs = 0 } = (await limiters[0]?.peek(key)) ?? {};
      for (const end of ends) expect(Math.abs(end - resetMs)).toBeLessThan(60_000);
      await client.flushall();
    },
  );

  it('is raised once, although the client loses the reply and sends the raise again', async () => {
    const redis = new Ioredis(clients[0] as Redis);
    let sent = 0;
    /** Sends the call twice, as ioredis does after a reconnection. */
    const twice = async (args: string[], send: () => Promise<unknown>): Promise<unknown> => {
      if (!args.includes('7999')) return send();
      sent += 1;
      await send();
      return send();
    };
    const client: RedisClient = {
      state: 'ready',
      evalsha: (sha, keys, args) => twice(args, () => redis.evalsha(sha, keys, args)),
      eval: (text, keys, args) => twice(args, () => redis.eval(text, keys, args)),
      onceChanged: () => () => undefined,
    };
    const store = redisStore(client);
    const faults: unknown[] = [];
    const onFault = ({ error }: Fault) => faults.push(error);
    const limiter = createLimiter(
      { name: 'quota', limit: 100_000, window: calendar('month') },
      { store, observers: [restoreFrom({ quota: () => 8_000 }, { store, onFault })] },
    );
    await limiter.consume('bob');
    await until(async () => (await limiter.peek('bob')).used >= 8_000);
    await new Promise((done) => setTimeout(done, 100));
    expect([(await limiter.peek('bob')).used, sent, faults]).toEqual([8_000, 1, []]);
  });

  it('is loaded from an older snapshot when its mark is deleted', async () => {
    const client = clients[0] as Redis;
    const store = redisStore(client);
    await client.flushall();
    let records = 0;
    const observers = [restoreFrom({ quota: () => records }, { store })];
    const limiter = createLimiter(
      { name: 'quota', limit: LIMIT, window: calendar('month') },
      { store, storeTimeout: '20s', observers },
    );
    await limiter.consume('mia');
    const marks = () => client.keys('spw:*.restored}c*');
    await until(async () => {
      const [mark = ''] = await marks();
      return /^\d+d/.test((await client.get(mark)) ?? '');
    });
    records = 90;
    await client.del(...(await marks()));
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 10_000);
    onTestFinished(() => void vi.restoreAllMocks());
    await limiter.consume('mia');
    await until(async () => (await limiter.peek('mia')).used === 90);
  });

  it('is restored if units that no decision has begin it', async () => {
    const options = { name: 'quota', limit: LIMIT, window: calendar('month') } as const;
    const store = redisStore(clients[0] as Redis);
    await clients[0]?.flushall();
    let loads = 0;
    const load = () => {
      loads += 1;
      return loads === 1 ? 0 : 90;
    };
    const observers = [restoreFrom({ quota: load }, { store })];
    const limiter = createLimiter(options, { store, observers });
    const usedOf = async () => (await limiter.peek('eve')).used;
    await limiter.consume('eve');
    await until(async () => {
      const [mark = ''] = (await clients[0]?.keys('*restored*')) ?? [];
      return /^\d+d/.test((await clients[0]?.get(mark)) ?? '');
    });
    await limiter.consume('eve');
    await clients[0]?.flushall();
    await createLimiter(options, { store }).consume('eve', { cost: 5 });
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 10_000);
    onTestFinished(() => void vi.restoreAllMocks());
    await limiter.consume('eve');
    await until(async () => (await usedOf()) === 90);
  });
});
