import { createLimiter, type KeyedLimiter } from '@spillway/core';
import { Cluster } from 'ioredis';
import { createCluster } from 'redis';
import { ada } from 'spillway-testkit/control';
import { redisProgram, useCluster } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type RedisStore, redisControl, redisStore } from '../../src/index.js';
import { soon } from './set-up.js';

describe.skipIf(redisProgram === null)('the control on Redis Cluster', () => {
  const { servers, nodes } = useCluster();

  it('is in one slot, and the same for every client', async () => {
    const cluster = new Cluster(servers.map(({ port }) => ({ host: '127.0.0.1', port })));
    onTestFinished(() => cluster.disconnect());
    const rootNodes = servers.map(({ port }) => ({ url: `redis://127.0.0.1:${port}` }));
    const other = createCluster({ rootNodes });
    onTestFinished(() => other.destroy());
    await other.connect();

    const one = redisControl(cluster);
    const two = redisControl(other);
    onTestFinished(() => one.close());
    onTestFinished(() => two.close());
    await one.set('api', { mode: 'off', share: 0.5 }, ada);
    await two.block('api', '{eve}', ada);
    expect(await two.list()).toHaveLength(3);
    expect(await two.history()).toEqual(await one.history());
    await one.refresh();
    expect(one.settingsOf('api')).toEqual({ mode: 'off', share: 0.5 });
    expect(one.overrideOf('api', '{eve}')?.verdict).toBe('block');
    const stored = await Promise.all(nodes.map((node) => node.dbsize()));
    expect(stored.sort()).toEqual([0, 0, 4]);
  });

  it('tells every shard what a reset there must find', async () => {
    const open = () => {
      const cluster = new Cluster(servers.map(({ port }) => ({ host: '127.0.0.1', port })));
      onTestFinished(() => cluster.disconnect());
      return cluster;
    };
    const keys = Array.from({ length: 12 }, (_, i) => `key ${i}`);
    const rule = { name: 'per key', limit: 1, window: '1h' } as const;
    const [older, newer] = [{ ...rule, burst: 2 }, rule].map((numbers) =>
      createLimiter(numbers, { store: redisStore(open()), denialCache: false, storeTimeout: '5s' }),
    ) as [KeyedLimiter<RedisStore>, KeyedLimiter<RedisStore>];
    for (const key of keys) await older.record(key, { cost: 2 });
    const control = redisControl(open());
    onTestFinished(() => control.close());
    await vi.waitFor(async () => expect(await control.limiters()).toHaveLength(1), soon);
    // The shards are told at the same time as the list, so one may know a moment later.
    await vi.waitFor(async () => {
      for (const key of keys) await newer.reset(key);
      for (const key of keys) expect((await older.peek(key)).remaining).toBe(2);
    }, soon);
  });
});
