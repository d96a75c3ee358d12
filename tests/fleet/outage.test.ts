/** What an outage of Redis costs: no request fails, waits are short and soon end, and no call charges too late. */

import { systemClock } from '@spillway/core/store';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { blackHole } from './black-hole.js';
import {
  chargedLate,
  expectTold,
  nameOf,
  quantileMs,
  TIMEOUT_MS,
  type WatchedService,
  watchedService,
} from './watched-service.js';

/** For two busy cores. On a quiet machine it is far less: see docs/operations.md. */
const NOISE_MS = 50;
const RECOVERY_MS = 1_000;
const OUTAGE_MS = 1_500;

interface Fault {
  /** Where the service looks for Redis. */
  readonly port: number;
  begin(): void | Promise<void>;
  end(): void | Promise<void>;
}

const faults: Record<string, (redis: RedisServer) => Fault | Promise<Fault>> = {
  'swallowed by the network': async (redis) => {
    const { port, swallow, giveBack } = await blackHole(redis.port);
    return { port, begin: swallow, end: giveBack };
  },
  frozen: (redis) => ({
    port: redis.port,
    begin: () => redis.freeze(),
    end: () => redis.thaw(),
  }),
  killed: (redis) => ({
    port: redis.port,
    begin: () => redis.end('SIGKILL'),
    end: () => redis.start(),
  }),
  'shut down': (redis) => ({
    port: redis.port,
    begin: () => redis.end('SIGTERM'),
    end: () => redis.start(),
  }),
};

const clients = {
  'ioredis 6': (port: number) => new Redis(port),
  'ioredis 5': (port: number) => new Redis5(port) as unknown as Redis,
};

/** From the moment at which Redis was gone (`goneUs`) to the one at which it was back. */
async function expectBounded(service: WatchedService, goneUs: number, backUs: number) {
  const { noted, breaker } = service;
  const opened = breaker.find(({ state, atUs }) => state === 'open' && atUs > goneUs);
  const openUs = opened?.atUs ?? expect.unreachable('the breaker did not open');
  const during = noted.filter(({ askedUs }) => askedUs > goneUs && askedUs < backUs);
  const detecting = during.filter(({ askedUs }) => askedUs <= openUs);
  const open = during.filter(({ askedUs }) => askedUs > openUs);
  expect(detecting.length).toBeGreaterThan(0);
  expect(quantileMs(detecting, 0.99)).toBeLessThan(TIMEOUT_MS + 10 + NOISE_MS);
  expect(open.length).toBeGreaterThan(300);
  expect(open.every(({ outcome }) => outcome === 'error')).toBe(true);
  expect(quantileMs(open, 0.5)).toBeLessThan(1);
  expect(quantileMs(open, 0.99)).toBeLessThan(1 + NOISE_MS);
  const againUs = await service.decidedAfter(backUs);
  expect((againUs - backUs) / 1000).toBeLessThan(RECOVERY_MS);
  console.log(
    JSON.stringify({
      n: during.length,
      detectN: detecting.length,
      detectP99: quantileMs(detecting, 0.99),
      detectMax: quantileMs(detecting, 1),
      openN: open.length,
      openP50: quantileMs(open, 0.5),
      openP99: quantileMs(open, 0.99),
      openMax: quantileMs(open, 1),
      recoveryMs: (againUs - backUs) / 1000,
    }),
  );
}

async function expectNoneLate({ noted }: WatchedService, redis: RedisServer) {
  const client = new Redis(redis.port);
  onTestFinished(() => client.disconnect());
  expect(await chargedLate(noted, client)).toBe(0);
  // Redis stores when a call was charged, so the check above could fail.
  const last = noted.at(-1);
  expect(await client.exists(nameOf(last?.key ?? '', 'sliding-window-log'))).toBe(1);
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

for (const [name, connect] of Object.entries(clients)) {
  describe.skipIf(redisProgram === null)(
    `under 500 requests a second, with a default client of ${name}, a Redis that is`,
    () => {
      it.each(Object.entries(faults))('%s fails no request', async (_, make) => {
        const redis = await RedisServer.up();
        const fault = await make(redis);
        const service = await watchedService(connect(fault.port));
        const loaded = service.load(4);
        await service.decidedAfter(0);
        await expect.poll(() => service.noted.length).toBeGreaterThan(100);
        const goneUs = systemClock.nowUs();
        await fault.begin();
        await wait(OUTAGE_MS);
        await fault.end();
        const backUs = systemClock.nowUs();
        await expectBounded(service, goneUs, backUs);
        expect(await loaded).toBe(true);
        await expectNoneLate(service, redis);
        expectTold(service);
      });

      it('not there from the start fails no request', async () => {
        const redis = await RedisServer.down();
        const startUs = systemClock.nowUs();
        const service = await watchedService(connect(redis.port));
        const loaded = service.load(4);
        await expect.poll(() => service.noted.length).toBeGreaterThan(500);
        await redis.start();
        await expectBounded(service, startUs, systemClock.nowUs());
        expect(await loaded).toBe(true);
        await expectNoneLate(service, redis);
        expectTold(service);
      });
    },
  );
}
