/**
 * A Redis machine that hangs or vanishes while its connections stay open: the client of our examples notices, and the
 * store helps other clients.
 */

import { createGuard, rateLimit } from '@spillway/core';
import { redisStore } from '@spillway/redis';
import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5';
import { createClient } from 'redis';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { blackHole } from './black-hole.js';
import { type Failover, startClusterOfSix, startSentinels } from './redis-groups.js';

const WITHIN_MS = 3_000;
const SAMPLE = { socketTimeout: 1_000 };

type Client = Parameters<typeof redisStore>[0];

interface Place {
  readonly port: number;
  readonly group?: Failover;
}

/** For the store, a client of ioredis 5 is like one of ioredis 6. */
function quiet(client: Redis | Cluster | Redis5 | Cluster5): Client {
  (client as Redis).on('error', () => undefined);
  onTestFinished(() => client.disconnect());
  return client as Redis;
}

const entriesOf = ({ group }: Place) => (group?.entries ?? []).map((entry) => ({ ...entry }));

async function opened(port: number): Promise<Client> {
  const client = createClient({
    url: `redis://127.0.0.1:${port}`,
    disableOfflineQueue: true,
    socket: { reconnectStrategy: 250 },
  });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.destroy());
  return client;
}

const KEYS = 12;

/** Sends requests through a guard on `client`, one every 10 ms, each with the next key. */
function asking(client: Client, options: Parameters<typeof redisStore>[1] = {}) {
  const warnings: string[] = [];
  const guard = createGuard(
    rateLimit({ name: 'calls', limit: 1_000_000, window: '400d', key: ({ path }) => path }),
    { store: redisStore(client, options), logger: { warn: (line) => warnings.push(line) } },
  );
  const decides = async (key: string) => {
    const { decisions, allowed } = await guard.admit({
      method: 'GET',
      path: key,
      clientIp: '203.0.113.7',
      header: () => undefined,
      raw: undefined,
    });
    expect(allowed).toBe(true);
    return decisions[0]?.outcome === 'allowed';
  };
  /** Waits until Redis has decided on all keys in a row. Returns how long that took. */
  const untilDecided = async (within: number) => {
    const startMs = performance.now();
    let inARow = 0;
    for (let i = 0; inARow < KEYS; i += 1) {
      inARow = (await decides(`k${i % KEYS}`)) ? inARow + 1 : 0;
      const tookMs = performance.now() - startMs;
      if (tookMs > within) throw new Error(`not decided within ${within} ms`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return performance.now() - startMs;
  };
  return { warnings, untilDecided };
}

describe.skipIf(redisProgram === null)('limits hold again within 3 s', () => {
  it.each([
    ['ioredis 6', async (port: number) => quiet(new Redis(port, SAMPLE))],
    ['ioredis 5', async (port: number) => quiet(new Redis5(port, SAMPLE))],
  ])('after the machine of one server has vanished (%s)', async (_, connect) => {
    const redis = await RedisServer.up();
    const { port, vanish } = await blackHole(redis.port);
    const { untilDecided } = asking(await connect(port));
    await untilDecided(5_000);
    vanish();
    await untilDecided(WITHIN_MS);
  });

  it.each([
    [
      'Sentinel, ioredis 6',
      startSentinels,
      async (place: Place) =>
        quiet(new Redis({ sentinels: entriesOf(place), name: 'main', ...SAMPLE })),
    ],
    [
      'Sentinel, ioredis 5',
      startSentinels,
      async (place: Place) =>
        quiet(new Redis5({ sentinels: entriesOf(place), name: 'main', ...SAMPLE })),
    ],
    [
      'Cluster, ioredis 6',
      startClusterOfSix,
      async (place: Place) => quiet(new Cluster(entriesOf(place), { redisOptions: SAMPLE })),
    ],
    [
      'Cluster, ioredis 5',
      startClusterOfSix,
      async (place: Place) => quiet(new Cluster5(entriesOf(place), { redisOptions: SAMPLE })),
    ],
  ])('after a master that hangs has a successor (%s)', async (_, start, connect) => {
    const group = await start();
    const { untilDecided } = asking(await connect({ port: 0, group }));
    await untilDecided(10_000);
    group.freezeMaster();
    const going = untilDecided(20_000);
    await group.replaced();
    const replacedMs = performance.now();
    await going;
    expect(performance.now() - replacedMs).toBeLessThan(WITHIN_MS);
  });
});

describe.skipIf(redisProgram === null)(
  'a client without a socket timeout, whose machine vanished',
  () => {
    it.each([
      ['ioredis 6', async (port: number) => quiet(new Redis(port)), 'socketTimeout: 1000'],
      ['node-redis', opened, 'reconnect: true'],
    ])('has its user told in one line what to set (%s)', async (_, connect, cure) => {
      const redis = await RedisServer.up();
      const { port, vanish } = await blackHole(redis.port);
      const { untilDecided, warnings } = asking(await connect(port));
      await untilDecided(5_000);
      vanish();
      await expect(untilDecided(3_500)).rejects.toThrow();
      expect(warnings).toHaveLength(2);
      expect(warnings[0]).toMatch(/^Spillway: Redis at (127\.0\.0\.1|localhost):\d+ is failing /);
      expect(warnings[1]).toContain(cure);
    });

    it.each([
      ['ioredis 6', async (port: number) => quiet(new Redis(port))],
      ['ioredis 5', async (port: number) => quiet(new Redis5(port))],
      ['node-redis', opened],
    ])(
      'has its connection ended by the store, where that is permitted (%s)',
      async (_, connect) => {
        const redis = await RedisServer.up();
        const { port, vanish } = await blackHole(redis.port);
        const { untilDecided, warnings } = asking(await connect(port), { reconnect: true });
        await untilDecided(5_000);
        vanish();
        const tookMs = await untilDecided(5_000);
        expect(tookMs).toBeGreaterThan(1_900);
        expect(warnings.join()).not.toContain('socketTimeout');
        vanish(); // not again in the same minute
        await expect(untilDecided(3_000)).rejects.toThrow();
      },
    );
  },
);
