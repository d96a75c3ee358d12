/** A Cluster of which one shard stays dead, under random keys: all other keys stay limited, exactly; no request fails. */

import { createGuard, createLimiter, type GuardOptions, rateLimit } from '@spillway/core';
import { redisStore } from '@spillway/redis';
import { Cluster } from 'ioredis';
import { Cluster as Cluster5 } from 'ioredis5';
import { createCluster } from 'redis';
import { delay, runningMs } from 'spillway-testkit';
import { redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startShards } from './redis-groups.js';

type Connect = (ports: readonly number[]) => Promise<Parameters<typeof redisStore>[0]>;

const clients: Record<string, Connect> = {
  'ioredis 6': async (ports) => {
    const cluster = new Cluster([...ports]);
    cluster.on('error', () => undefined);
    onTestFinished(() => cluster.disconnect());
    return cluster;
  },
  'ioredis 5': async (ports) => {
    const cluster = new Cluster5([...ports]);
    cluster.on('error', () => undefined);
    onTestFinished(() => cluster.disconnect());
    return cluster as unknown as Cluster;
  },
  'node-redis 6': async (ports) => {
    const cluster = createCluster({
      rootNodes: ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })),
      defaults: { disableOfflineQueue: true, socket: { reconnectStrategy: 250 } },
    });
    cluster.on('error', () => undefined);
    await cluster.connect();
    onTestFinished(() => cluster.destroy());
    return cluster;
  },
};

const LIMIT = 5;
const ROUNDS = 12;

describe.skipIf(redisProgram === null).each(Object.entries(clients))(
  'with %s, one shard of three dead',
  (_, connect) => {
    async function setUp(options: Omit<GuardOptions, 'onDecision'>) {
      const shards = await startShards();
      const client = await connect(shards.ports);
      const warnings: string[] = [];
      const settings = {
        store: redisStore(client),
        denialCache: false,
        storeTimeout: 250, // a busy machine is no dead shard
        logger: { warn: (line: string) => warnings.push(line) },
        ...options,
      };
      const limit = (name: string) =>
        rateLimit({ name, limit: LIMIT, window: '1h', key: ({ header }) => header(name) });
      const guard = createGuard([limit('user'), limit('tenant')], settings);
      /** Whether it passes, and the outcomes for user and tenant. */
      const ask = async (user: string, tenant = user) => {
        const { allowed, decisions } = await guard.admit({
          method: 'GET',
          path: '/',
          clientIp: '203.0.113.7',
          header: (name) => (name === 'user' ? user : tenant),
          raw: undefined,
        });
        return { allowed, outcomes: decisions.map(({ outcome }) => outcome) };
      };
      for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
        // Connected to every node.
        await expect.poll(async () => (await ask(key)).outcomes[0]).not.toBe('error');
      }
      warnings.length = 0;
      return { shards, warnings, ask, settings };
    }
    it.each(['allow', 'deny'] as const)(
      "limits the keys of the others exactly, and has the dead one's answered by %s",
      async (onStoreError) => {
        const { shards, warnings, ask } = await setUp({ onStoreError });
        const { ofFirst: dead, ofOthers } = await shards.keys(20 * ROUNDS);
        const alive = ofOthers.slice(0, 20);
        await shards.killFirst();
        const admitted = new Map<string, number>();
        const answersOfDead = new Set<boolean>();
        for (let round = 0; round < ROUNDS; round += 1) {
          for (const key of alive) {
            const [own, other] = await Promise.all([ask(key), ask(dead.pop() ?? '')]);
            expect(own.outcomes).not.toContain('error');
            expect(other.outcomes).toEqual(['error', 'error']);
            answersOfDead.add(other.allowed);
            if (own.allowed) admitted.set(key, (admitted.get(key) ?? 0) + 1);
          }
        }
        expect([...admitted.values()]).toEqual(alive.map(() => LIMIT));
        expect([...answersOfDead]).toEqual([onStoreError === 'allow']);
        expect(warnings).toHaveLength(1);
        expect(warnings[0]).toMatch(
          new RegExp(
            `^Spillway: Redis Cluster of \\d, 127.0.0.1:${shards.ports[0]} is failing .*user, tenant: ${onStoreError}`,
          ),
        );
      },
    );

    it('counts the living part of a request that has a dead one too', async () => {
      const { shards, ask } = await setUp({ onStoreError: 'allow' });
      const { ofFirst: dead, ofOthers: alive } = await shards.keys(50);
      await shards.killFirst();
      for (const user of alive.slice(0, 5)) {
        const said = [];
        for (let i = 0; i < LIMIT + 2; i += 1) said.push(await ask(user, dead.pop()));
        expect(said.map(({ allowed }) => allowed)).toEqual([
          ...Array(LIMIT).fill(true),
          false,
          false,
        ]);
        expect(said.every(({ outcomes }) => outcomes[1] === 'error')).toBe(true);
      }
    });

    it('charges the living part nothing where the dead one denies', async () => {
      const { shards, ask, settings } = await setUp({ onStoreError: 'deny' });
      const { ofFirst: dead, ofOthers } = await shards.keys(3 * LIMIT);
      const user = ofOthers[0] ?? '';
      await shards.killFirst();
      for (const tenant of dead) expect((await ask(user, tenant)).allowed).toBe(false);
      const { remaining } = await createLimiter(
        { name: 'user', limit: LIMIT, window: '1h' },
        settings,
      ).peek(user);
      expect(remaining).toBe(LIMIT);
    });
  },
);

it.skipIf(redisProgram === null)('a shard that is back decides again within a second', async () => {
  const shards = await startShards();
  const cluster = new Cluster([...shards.ports]);
  cluster.on('error', () => undefined);
  onTestFinished(() => cluster.disconnect());
  const limiter = createLimiter(
    { name: 'a', limit: 1_000, window: '1h' },
    { store: redisStore(cluster), logger: false },
  );
  const dead = (await shards.keys(1)).ofFirst[0] ?? '';
  await expect.poll(async () => (await limiter.consume(dead)).outcome).toBe('allowed');
  shards.freezeFirst();
  for (let i = 0; i < 20; i += 1) expect((await limiter.consume(dead)).outcome).toBe('error');
  shards.thawFirst();
  const backMs = await runningMs(async () => {
    while ((await limiter.consume(dead)).outcome !== 'allowed') await delay(10);
  });
  expect(backMs).toBeLessThan(1_000);
});
