/** A Redis that fails: requests are still answered in time, and limited again when it is back. */

import { Redis } from 'ioredis';
import { checkBuilt, startDemo } from 'spillway-testkit/processes';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ask, askUntil, type Load, load } from './load.js';

/** The deadline on a store call is 50 ms; the rest is for two busy cores. */
const IN_TIME_MS = 500;
/** How soon the limits of Redis hold again once it is back. */
const RECOVERY_MS = 1_000;

beforeAll(() => checkBuilt('express'));

describe.skipIf(redisProgram === null)(
  'requests are answered, and soon limited again, when Redis',
  () => {
    it('is down when the service starts', async () => {
      const redis = await RedisServer.down();
      const { url } = await startDemo({ ...FEW, REDIS_URL: redis.url });
      expectAnswered(await load(url, { seconds: 1, rate: 500 }), [200]);
      await redis.start();
      expect(await askUntil(url, 429, 5_000)).toBeLessThan(RECOVERY_MS);
    });

    it('takes connections but says nothing when the service starts', async () => {
      const redis = await RedisServer.up();
      redis.freeze();
      const { url } = await startDemo({ ...FEW, REDIS_URL: redis.url });
      expectAnswered(await load(url, { seconds: 1, rate: 200 }), [200]);
      redis.thaw();
      expect(await askUntil(url, 429, 5_000)).toBeLessThan(RECOVERY_MS);
    });

    it('is killed under load, and started anew', async () => {
      const redis = await RedisServer.up();
      const { url } = await startDemo({ ...FEW, REDIS_URL: redis.url });
      await askUntil(url, 429, 20_000);
      const during = load(url, { seconds: 3, rate: 500 });
      await askUntil(url, 429, 20_000);
      await redis.end('SIGKILL');
      await askUntil(url, 200, RECOVERY_MS, NEVER_REFUSED);
      await redis.start();
      expect(await askUntil(url, 429, 5_000, NEVER_REFUSED)).toBeLessThan(RECOVERY_MS);
      expectAnswered(await during, [200, 429]);
    });

    it('freezes under load, and goes on', async () => {
      const redis = await RedisServer.up();
      const { url } = await startDemo({ ...FEW, REDIS_URL: redis.url });
      await askUntil(url, 429, 20_000);
      const during = load(url, { seconds: 3, rate: 500 });
      redis.freeze();
      await askUntil(url, 200, RECOVERY_MS, NEVER_REFUSED);
      for (let i = 0; i < 10; i += 1) {
        const { status, tookMs } = await ask(url, NEVER_REFUSED);
        expect(status).toBe(200);
        expect(tookMs).toBeLessThan(IN_TIME_MS);
      }
      redis.thaw();
      expect(await askUntil(url, 429, 5_000, NEVER_REFUSED)).toBeLessThan(RECOVERY_MS);
      expectAnswered(await during, [200, 429]);
    });

    it('restarts in good order', async () => {
      const redis = await RedisServer.up();
      const { url } = await startDemo({ ...FEW, REDIS_URL: redis.url });
      const during = load(url, { seconds: 3, rate: 500 });
      await askUntil(url, 429, 20_000);
      await redis.end('SIGTERM');
      await redis.start();
      expect(await askUntil(url, 429, 5_000, NEVER_REFUSED)).toBeLessThan(RECOVERY_MS);
      expectAnswered(await during, [200, 429]);
    });

    it.each([
      ['has no memory left', 'CONFIG SET maxmemory 1', 'CONFIG SET maxmemory 0'],
      ['is made a replica', 'REPLICAOF 127.0.0.1 1', 'REPLICAOF NO ONE'],
    ])('%s, so that nothing can be written', async (_, spoil, mend) => {
      const redis = await RedisServer.up();
      const client = new Redis(redis.url);
      onTestFinished(() => client.disconnect());
      const command = (text: string) => client.call(...(text.split(' ') as [string, ...string[]]));
      const { url } = await startDemo({ ...FEW, REDIS_URL: redis.url });
      await command(spoil);
      expectAnswered(await load(url, { seconds: 1, rate: 500 }), [200]);
      await command(mend);
      expect(await askUntil(url, 429, 5_000)).toBeLessThan(RECOVERY_MS);
    });

    it.each([
      ['has no memory left', 'CONFIG SET maxmemory 1'],
      ['is made a replica', 'REPLICAOF 127.0.0.1 1'],
      ['is shut down', 'SHUTDOWN NOSAVE'],
    ])('%s, and nothing was configured: each process counts by itself', async (_, spoil) => {
      const redis = await RedisServer.up();
      const client = new Redis(redis.url, { retryStrategy: () => null });
      client.on('error', () => undefined);
      onTestFinished(() => client.disconnect());
      const { url } = await startDemo({ ...FEW_BY_DEFAULT, REDIS_URL: redis.url });
      expect((await ask(url)).status).toBe(200);
      await client.call(...(spoil.split(' ') as [string, ...string[]])).catch(() => undefined);
      const result = await load(url, { seconds: 1, rate: 500 });
      expectAnswered(result, [200, 429]);
      expect(result.statuses[200]).toBe(4); // with the one before the outage, the limit
      const others = await Promise.all([1, 2, 3, 4, 5, 6].map(() => ask(url, 'another')));
      expect(others.filter(({ status }) => status === 200)).toHaveLength(5);
    });

    it('forgets its scripts', async () => {
      const redis = await RedisServer.up();
      const { url } = await startDemo({ ...FEW, REDIS_URL: redis.url });
      await askUntil(url, 429, 20_000);
      const during = load(url, { seconds: 2, rate: 500 });
      const client = new Redis(redis.url);
      onTestFinished(() => client.disconnect());
      for (let i = 0; i < 20; i += 1) {
        const statuses: number[] = [];
        // Each decision meets a server without the script; one that was not counted would let a sixth request pass.
        while (statuses.length < 6) {
          await client.script('FLUSH');
          statuses.push((await ask(url, `key ${i}`)).status);
        }
        expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
      }
      expectAnswered(await during, [429]);
    });
  },
);

/**
 * A limit that is used up at once and doesn't refill. Without Redis nobody is rejected, so each rejection is by Redis.
 */
const FEW = { LIMIT: 5, WINDOW: '400d', ON_STORE_ERROR: 'allow' };

/** The same, with the default of `onStoreError`. */
const FEW_BY_DEFAULT = { LIMIT: 5, WINDOW: '400d' };

/** A key that was never rejected. Rejected keys are in the denial cache, whatever happens to Redis. */
const NEVER_REFUSED = 'grace';

function expectAnswered(result: Load, among: readonly number[]): void {
  const { statuses, unanswered, maxMs } = result;
  expect(
    Object.keys(statuses)
      .map(Number)
      .filter((status) => !among.includes(status)),
  ).toEqual([]);
  expect(unanswered).toBe(0);
  expect(maxMs).toBeLessThan(IN_TIME_MS);
}
