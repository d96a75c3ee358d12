/** 20,000 requests in progress in one process, for several leases, on an event loop that has other work too. */

import {
  type Answer,
  concurrencyLimit,
  createGuard,
  type Guard,
  type LimitRequest,
  rateLimit,
  type Store,
} from '@spillway/core';
import { type LeasesAnswer, makeLeasesRule } from '@spillway/core/store';
import { redisStore } from '@spillway/redis';
import { Cluster, Redis } from 'ioredis';
import { RedisServer, redisProgram, startCluster } from 'spillway-testkit/redis';
import { expect, it, onTestFinished } from 'vitest';

const PERMITS = 20_000;
const KEYS = 100;
const LEASE_MS = 8_000;
const HELD_MS = 2.1 * LEASE_MS;

function requestOf(path: string): LimitRequest {
  return { method: 'GET', path, clientIp: undefined, header: () => undefined, raw: undefined };
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const key = ({ path }: LimitRequest): string => path;
const pathOf = (n: number): string => `/${n % KEYS}`;

async function takeAll(store: Store): Promise<Guard> {
  const limit = concurrencyLimit({ name: 'streams', limit: PERMITS, lease: LEASE_MS, key });
  const guard = createGuard(limit, { store, logger: false });
  const take = async (n: number): Promise<void> => {
    const admission = await guard.admit(requestOf(pathOf(n)));
    if (admission.decisions[0]?.outcome === 'allowed') return;
    // On a machine that is busy with other tests, the store may run the take after the release.
    await admission.release({});
    await wait(200);
    await take(n);
  };
  for (let at = 0; at < PERMITS; at += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, i) => take(at + i)));
  }
  return guard;
}

/** Permits that the store knows of now. */
async function live(store: Store): Promise<number> {
  const rule = makeLeasesRule(PERMITS, LEASE_MS * 1_000);
  const look = { op: 'look', limiter: 'streams', rule, cost: 1, binding: true } as const;
  const answers: (readonly Answer[])[] = [];
  for (let n = 0; n < KEYS; n += 1) answers.push(await store.apply([{ ...look, key: pathOf(n) }]));
  return answers.reduce((sum, [answer]) => sum + (answer as LeasesAnswer).used, 0);
}

/** A take that ran after its release lasts as long as its lease, because nobody renews it. */
async function onlyHeldAreLive(store: Store): Promise<void> {
  const options = { timeout: 1.5 * LEASE_MS, interval: 200 };
  await expect.poll(() => live(store), options).toBeLessThanOrEqual(PERMITS);
}

/** Other requests meanwhile, under another limit of the same store, and their outcomes. */
function others(store: Store) {
  const outcomes: string[] = [];
  const breaker: string[] = [];
  const limit = rateLimit({ name: 'others', limit: 1_000_000, window: '1h', key });
  const guard = createGuard(limit, {
    store,
    storeTimeout: '500ms',
    logger: false,
    onDecision: ({ outcome }) => outcomes.push(outcome),
    observers: [{ onBreaker: ({ state }) => breaker.push(state) }],
  });
  let n = 0;
  const asking = setInterval(() => {
    n += 1;
    void guard.admit(requestOf(pathOf(n)));
    // The event loop is busy for two fifths of its time.
    const end = performance.now() + 10;
    while (performance.now() < end);
  }, 25);
  const stop = () => clearInterval(asking);
  onTestFinished(stop);
  return { outcomes, breaker, stop };
}

const SERVERS = {
  'one Redis': async (): Promise<Store> => {
    const { port } = await RedisServer.up();
    const redis = new Redis(port);
    onTestFinished(() => redis.disconnect());
    return redisStore(redis);
  },
  'a Cluster': async (): Promise<Store> => {
    const { servers, nodes } = await startCluster();
    const redis = new Cluster(servers.map(({ port }) => ({ host: '127.0.0.1', port })));
    onTestFinished(async () => {
      for (const client of [redis, ...nodes]) client.disconnect();
      for (const server of servers) await server.kill();
    });
    return redisStore(redis);
  },
};

it.skipIf(redisProgram === null).each(Object.entries(SERVERS))(
  'on %s none of 20,000 permits is lost, and nobody else is disturbed',
  async (_, connect) => {
    const store = await connect();
    const guard = await takeAll(store);
    await onlyHeldAreLive(store);
    const { outcomes, breaker, stop } = others(store);
    const endMs = performance.now() + HELD_MS;
    while (performance.now() < endMs) {
      await wait(1_000);
      expect(await live(store)).toBe(PERMITS);
    }
    stop();
    await wait(300);
    expect(guard.inProgress).toBe(PERMITS);
    expect(breaker).toEqual([]);
    expect(outcomes.length).toBeGreaterThan(100);
    expect(outcomes.filter((outcome) => outcome !== 'allowed')).toEqual([]);

    await guard.close();
    expect(await live(store)).toBe(0);
  },
);
