/** `thresholds` on Redis: processes that share a quota, with one callback for all. */

import { type Crossed, calendar, createLimiter, thresholds } from '@spillway/core';
import { Redis } from 'ioredis';
import { until } from 'spillway-testkit';
import { type RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisStore } from '../src/index.js';

describe.skipIf(redisProgram === null)('a share of a quota on Redis', () => {
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

  it('is reported once by four processes, and the mark ends with the period', async () => {
    const told: Crossed[] = [];
    const limiters = clients.map((client) => {
      const store = redisStore(client);
      const observer = thresholds({ quota: [0.5, 1] }, (one) => told.push(one), { store });
      return createLimiter(
        { name: 'quota', limit: 200, window: calendar('month') },
        { store, storeTimeout: '20s', observers: [observer], logger: false },
      );
    });
    for (const key of ['ada', '__proto__', 'a\0b {x} %']) {
      const calls = Array.from({ length: 400 }, (_, at) => limiters[at % 4]?.consume(key));
      await Promise.all(calls);
      await until(() => told.length >= 2);
      const { resetMs = 0 } = (await limiters[0]?.peek(key)) ?? {};
      expect(told.map(({ threshold }) => threshold).sort()).toEqual([0.5, 1]);
      for (const one of told.splice(0)) {
        expect(one).toMatchObject({ key, limit: 200, limiter: 'quota' });
        expect(Math.abs(Number(one.resetsAt) - Date.now() - resetMs)).toBeLessThan(2_000);
      }
    }
    const client = clients[0] as Redis;
    const marks = (await client.keys('*')).filter((name) => name.includes('quota.thresholds'));
    expect(marks).toHaveLength(6);
    const ends = await Promise.all(marks.map((name) => client.pttl(name)));
    const { resetMs = 0 } = (await limiters[0]?.peek('ada')) ?? {};
    for (const end of ends) expect(Math.abs(end - resetMs)).toBeLessThan(60_000);
    expect(told).toEqual([]);
  });
});
