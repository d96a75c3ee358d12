/** `reserveFirst` on a Cluster, where the first key lies on a dead shard. */

import { createShaper } from '@spillway/outgoing';
import { redisStore } from '@spillway/redis';
import { Cluster } from 'ioredis';
import { redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startShards } from './redis-groups.js';

describe.skipIf(redisProgram === null)('with one shard of three dead, and deny', () => {
  it('reserveFirst takes the second key, from the first call on', {
    timeout: 60_000,
  }, async () => {
    const shards = await startShards();
    const cluster = new Cluster([...shards.ports]);
    cluster.on('error', () => undefined);
    onTestFinished(() => cluster.disconnect());
    const shaper = createShaper(
      { name: 'first', limit: 1_000, window: '1s' },
      { store: redisStore(cluster), onStoreError: 'deny', storeTimeout: '250ms', logger: false },
    );
    const { ofFirst, ofOthers } = await shards.keys(1);
    const [gone = '', alive = ''] = [...ofFirst, ...ofOthers];
    for (const key of [gone, alive]) {
      expect(await shaper.reserve(key)).toMatchObject({ allowed: true });
    }
    await shards.killFirst();
    const answers = [];
    for (let i = 0; i < 4; i += 1) answers.push(await shaper.reserveFirst([gone, alive]));
    expect(answers).toMatchObject(answers.map(() => ({ allowed: true, key: alive })));
  });
});
