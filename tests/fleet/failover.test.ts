/** A Redis server dies and another takes its place: what that costs, and how much more than the limit is admitted. */

import { systemClock } from '@spillway/core/store';
import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5';
import { redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it } from 'vitest';
import { type Failover, startClusterOfSix, startSentinels } from './redis-groups.js';
import { expectTold, nameOf, quantileMs, TIMEOUT_MS, watchedService } from './watched-service.js';

const NOISE_MS = 50;
const RECOVERY_MS = 1_000;
const KEYS = 60;
/** How long before the master's death its replica received the last write. */
const UNREPLICATED_MS = 200;

const entriesOf = ({ entries }: Failover) => entries.map((entry) => ({ ...entry }));

const groups = [
  {
    name: 'Sentinel, ioredis 6',
    start: startSentinels,
    connect: (group: Failover) => new Redis({ sentinels: entriesOf(group), name: 'main' }),
  },
  {
    name: 'Sentinel, ioredis 5',
    start: startSentinels,
    connect: (group: Failover) =>
      new Redis5({ sentinels: entriesOf(group), name: 'main' }) as unknown as Redis,
  },
  {
    name: 'Cluster, ioredis 6',
    start: startClusterOfSix,
    connect: (group: Failover) => new Cluster(entriesOf(group)),
  },
  {
    name: 'Cluster, ioredis 5',
    start: startClusterOfSix,
    connect: (group: Failover) => new Cluster5(entriesOf(group)) as unknown as Cluster,
  },
];

/** The units that Redis has counted, over all keys. */
async function counted(client: Redis | Cluster): Promise<number> {
  let units = 0;
  for (let i = 0; i < KEYS; i += 1) {
    const value = await client.get(nameOf(`k${i}`, 'fixed-window'));
    units += Number(value?.split(':')[1] ?? 0);
  }
  return units;
}

describe.skipIf(redisProgram === null)('under 500 requests a second, the death of a master', () => {
  it.each(groups)('fails no request ($name)', async ({ start, connect }) => {
    const group = await start();
    const client = connect(group);
    const service = await watchedService(client, { keys: KEYS });
    const loaded = service.load(6);
    await service.decidedAfter(0);
    await expect.poll(() => service.noted.length).toBeGreaterThan(500);
    const cutUs = systemClock.nowUs();
    await group.cutReplication();
    await wait(UNREPLICATED_MS);
    const goneUs = systemClock.nowUs();
    await group.killMaster();
    await group.replaced();
    const backUs = systemClock.nowUs();
    expect(await loaded).toBe(true);

    const { noted } = service;
    const after = noted.filter(({ askedUs }) => askedUs > goneUs);
    const failed = after.filter(({ outcome }) => outcome === 'error');
    const againMs = Array.from({ length: KEYS }, (_, i) => {
      const again = after.find(
        (one) => one.key === `k${i}` && one.askedUs > backUs && one.outcome !== 'error',
      );
      return again ? (again.askedUs - backUs) / 1000 : Infinity;
    });
    const granted = noted.filter(({ outcome }) => outcome === 'allowed');
    const atRisk = granted.filter(
      ({ askedUs, tookMs }) => askedUs + tookMs * 1000 > cutUs && askedUs <= goneUs,
    ).length;
    const acknowledged = granted.length;
    const inRedis = await counted(client);
    expect(quantileMs(after, 0.99)).toBeLessThan(TIMEOUT_MS + 10 + NOISE_MS);
    expect(failed.length).toBeGreaterThan(0);
    expect(Math.max(...againMs)).toBeLessThan(RECOVERY_MS);
    expectTold(service);
    // At most the units that were granted but not yet replicated are lost, and granted again.
    expect(acknowledged - inRedis).toBeGreaterThan(0);
    expect(acknowledged - inRedis).toBeLessThanOrEqual(atRisk);
  });
});

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
