/** For one request, a guard makes one script call to Redis, and one more when the request has ended. */

import {
  concurrencyLimit,
  createGuard,
  fleetShedder,
  type LimitRequest,
  rateLimit,
  slidingWindow,
  workerShedder,
} from '@spillway/core';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished } from 'vitest';

const SCRIPTS = ['evalsha', 'eval'];

function request(user: string): LimitRequest {
  const header = () => user;
  return { method: 'GET', path: '/', clientIp: undefined, header, raw: undefined };
}

async function setUp() {
  const server = await RedisServer.up();
  const redis = new Redis(server.port);
  const watcher = new Redis(server.port);
  onTestFinished(() => {
    redis.disconnect();
    watcher.disconnect();
  });
  const key = (of: LimitRequest) => of.header('x-api-key');
  const guard = createGuard(
    [
      workerShedder({
        name: 'workers',
        ladder: false,
        brake: { signal: { name: 'none', read: () => undefined } },
      }),
      fleetShedder({ name: 'fleet', capacity: 1_000 }),
      concurrencyLimit({ name: 'in-flight', limit: 20, key }),
      rateLimit({ name: 'per-key', limit: 5, window: '1h', key }),
      rateLimit({
        name: 'per-day',
        limit: 1_000,
        window: '1d',
        algorithm: slidingWindow,
        key,
      }),
    ],
    { store: redisStore(redis), storeTimeout: '5s' },
  );
  // The script is known from here on.
  (await guard.admit(request('first'))).release({});
  await redis.ping();
  await watcher.config('RESETSTAT');
  /** Commands that clients sent, by name, without the watcher's own. */
  const commands = async (): Promise<Record<string, number>> => {
    await redis.ping(); // after everything that was sent before
    const stats = [
      ...(await watcher.info('commandstats')).matchAll(/cmdstat_([^:]+):calls=(\d+)/g),
    ];
    const sent = stats.filter(([, name = '']) => SCRIPTS.includes(name));
    return Object.fromEntries(sent.map(([, name, calls]) => [name, Number(calls)]));
  };
  return { guard, commands };
}

describe.skipIf(redisProgram === null)('five limiters in one guard', () => {
  it('ask Redis once for each request, and once when it is over', async () => {
    const { guard, commands } = await setUp();
    for (let n = 1; n <= 5; n += 1) {
      const admission = await guard.admit(request('ada'));
      expect(admission.allowed).toBe(true);
      expect(await commands()).toEqual({ evalsha: 2 * n - 1 });
      admission.release({ status: 200 });
      expect(await commands()).toEqual({ evalsha: 2 * n });
    }
  });

  it('ask once for what is refused, and give nothing back', async () => {
    const { guard, commands } = await setUp();
    for (let n = 0; n < 5; n += 1) (await guard.admit(request('ada'))).release({});
    const refused = await guard.admit(request('ada'));
    expect(refused.binding).toMatchObject({ limiter: 'per-key', reason: 'rate' });
    expect(refused.decisions.map(({ outcome }) => outcome)).toEqual([
      'allowed',
      'allowed',
      'allowed',
      'denied',
      'allowed',
    ]);
    refused.release({});
    // Each release travelled with the decision after it.
    expect(await commands()).toEqual({ evalsha: 6 });
  });

  it('share calls under load', async () => {
    const { guard, commands } = await setUp();
    const users = Array.from({ length: 100 }, (_, n) => `user ${n}`);
    const admissions = await Promise.all(users.map((user) => guard.admit(request(user))));
    const asked = await commands();
    expect(asked['evalsha']).toBe(4); // 400 steps, 128 to a call
    for (const admission of admissions) admission.release({});
    expect((await commands())['evalsha']).toBeLessThanOrEqual(4 + 2);
  });
});
