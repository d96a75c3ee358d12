/** A shaper on a Redis Cluster whose keys are on several servers. */

import { createShaper, type Shaper } from '@spillway/outgoing';
import { Cluster } from 'ioredis';
import { redisProgram, useCluster } from 'spillway-testkit/redis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hashSlotOf } from '../src/hash-slot.js';
import { redisStore } from '../src/index.js';

/** For a shaper's name only the key decides the slot. */
const placeOf = (key: string) => hashSlotOf(`spw:1{${key}}carriers`);
const KEYS = ['north', 'south', 'east'];

describe.skipIf(redisProgram === null)('on Redis Cluster, reserveFirst', () => {
  const { servers, nodes } = useCluster();
  let client: Cluster;
  let shaper: Shaper;

  beforeAll(async () => {
    client = new Cluster(servers.map(({ port }) => ({ host: '127.0.0.1', port })));
    const parts = new Set(KEYS.map((key) => Math.floor((placeOf(key) * servers.length) / 16_384)));
    expect(parts.size).toBeGreaterThan(1);
  });
  afterAll(async () => {
    client?.disconnect();
  });
  beforeEach(async () => {
    for (const node of nodes) await node.flushall();
    // A key may promise two starts: one now, one in an hour.
    shaper = createShaper(
      { name: 'carriers', limit: 1, window: '1h', maxWait: '61m' },
      { store: redisStore(client), onStoreError: 'deny', storeTimeout: '5s' },
    );
  });
  afterEach(() => shaper.close());

  /** How long the wait for each key is, in hours. */
  async function waits(): Promise<number[]> {
    const ms = await Promise.all(KEYS.map((key) => shaper.waitOf(key)));
    return ms.map((wait) => Math.round(wait / 3_600_000));
  }

  it('takes the first key whose wait is not too long, and nothing of the others', async () => {
    const taken: (string | false)[] = [];
    for (let i = 0; i < 7; i += 1) {
      const reserved = await shaper.reserveFirst(KEYS);
      taken.push(reserved.allowed && reserved.key);
    }
    expect(taken).toEqual(['north', 'north', 'south', 'south', 'east', 'east', false]);
    expect(await waits()).toEqual([2, 2, 2]);
  });

  it('tells the shortest wait if all are too long, and takes nothing', async () => {
    for (const key of KEYS) await shaper.reserve(key);
    await shaper.reserve('north');
    await shaper.pause('south', '3h');
    await shaper.reserve('east');
    await shaper.reserve('east');
    const before = await waits();
    const refused = await shaper.reserveFirst(KEYS);
    expect(refused).toMatchObject({ allowed: false, reason: 'wait' });
    expect(refused.allowed || Math.round(refused.wouldWaitMs / 3_600_000)).toBe(2);
    expect(await waits()).toEqual(before);
  });

  it('by many at once promises no more than the longest waits allow, and loses nothing', async () => {
    const asked = Array.from({ length: 30 }, (_, i) =>
      shaper.reserveFirst(i % 2 === 0 ? KEYS : [...KEYS].reverse()),
    );
    const all = await Promise.all(asked);
    const taken = all.filter(({ allowed }) => allowed).map(({ key }) => key);
    // Some were rejected too early, because they met what another had taken for a moment. Those ask again.
    for (let i = 0; i < 6; i += 1) {
      const again = await shaper.reserveFirst(KEYS);
      if (again.allowed) taken.push(again.key);
    }
    expect(taken.sort()).toEqual(['east', 'east', 'north', 'north', 'south', 'south']);
    expect(await waits()).toEqual([2, 2, 2]);
  });

  it('gives back the slot of the key that was taken', async () => {
    await shaper.reserve('north');
    await shaper.reserve('north');
    await shaper.reserve('south');
    const reserved = await shaper.reserveFirst(KEYS);
    expect(reserved).toMatchObject({ allowed: true, key: 'south' });
    expect(await waits()).toEqual([2, 2, 0]);
    if (reserved.allowed) reserved.cancel();
    await expect.poll(waits).toEqual([2, 1, 0]);
  });
});
