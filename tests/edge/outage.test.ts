/** A store that fails and recovers, as seen by a Worker in real workerd, where all work of a request ends with it. */

import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Miniflare } from 'miniflare';
import { delay, runningMs } from 'spillway-testkit';
import { type RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { UpstashServer } from 'spillway-testkit/upstash';
import { bundleForWorker } from 'spillway-testkit/worker-bundle';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

/**
 * Limits how long requests may take to find the store again. Generous, because two cores may be busy with other tests.
 */
const WITHIN_MS = 1_000;

const ways = ['hono', 'kept', 'bare'].flatMap((way) =>
  (['allow', 'deny'] as const).flatMap((policy) =>
    (['hang', 'status-500'] as const).map((fault) => ({ way, policy, fault })),
  ),
);

describe.skipIf(redisProgram === null)('a Worker whose store goes and comes back', () => {
  let server: RedisServer;
  let redis: Redis;
  let http: UpstashServer;
  let miniflare: Miniflare;
  let origin: URL;

  beforeAll(async () => {
    server = await startServer();
    redis = new Redis(server.port);
    http = await UpstashServer.start(redis);
    const { text } = await bundleForWorker(join(import.meta.dirname, 'outage-worker.js'));
    miniflare = new Miniflare({
      script: text,
      modules: true,
      compatibilityDate: '2026-04-01',
      bindings: { url: http.url, token: http.token },
      port: 0,
    });
    origin = await miniflare.ready;
  });
  afterAll(async () => {
    await miniflare.dispose();
    await http.stop();
    redis.disconnect();
    await server.kill();
  });

  afterEach(() => {
    http.fault = 'none';
  });

  let callers = 0;
  const caller = () => {
    callers += 1;
    return `caller ${callers}`;
  };

  it.each(ways)('$way, $policy, $fault: limits again within a second', async (one) => {
    const { way, policy, fault } = one;
    const ask = async (key: string) => {
      const response = await fetch(new URL(`/${way}/${policy}`, origin), {
        headers: { 'x-key': key },
      });
      await response.text();
      return response.status;
    };
    const handed = async () => Number(await (await fetch(new URL('/handed', origin))).text());
    const thrice = async (key: string) => [await ask(key), await ask(key), await ask(key)];
    await ask(caller()); // Redis learns the script
    expect(await thrice(caller())).toEqual([200, 200, 429]);

    const before = await handed();
    http.fault = fault;
    const answered = policy === 'allow' ? 200 : 503;
    const statuses: number[] = [];
    // Also concurrent ones: work that one request started must not delay another.
    const crowd = Promise.all(Array.from({ length: 8 }, () => ask(caller())));
    for (let i = 0; i < 12; i += 1) statuses.push(await ask(caller()));
    statuses.push(...(await crowd));
    expect(new Set(statuses)).toEqual(new Set([answered]));
    await delay(600); // nobody comes

    http.fault = 'none';
    const key = caller();
    const backMs = await runningMs(async () => {
      while ((await ask(key)) !== 429) await delay(30);
    });
    expect(backMs).toBeLessThan(WITHIN_MS);
    expect(await thrice(caller())).toEqual([200, 200, 429]);
    // If the platform can, it keeps the probe alive. Otherwise the request that sends the probe waits for it.
    if (way === 'bare') expect(await handed()).toBe(before);
    else expect(await handed()).toBeGreaterThan(before);
  });
});
