import { storeConformance } from '@spillway/conformance';
import { ManualClock } from '@spillway/core/testing';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { afterAll, describe, test } from 'vitest';
import { redisStoreAt } from '../src/testing.js';
import { redisUrl } from './redis.js';

const url = redisUrl ?? '';

// One logical database for each client, so that no other test is in the way.
const suites = [
  {
    name: 'ioredis 6',
    connect: (db: number) => new Redis(url, { db, lazyConnect: true }),
    db: 1,
    runs: 100,
  },
  {
    name: 'ioredis 5',
    connect: (db: number) => new Redis5(url, { db, lazyConnect: true }),
    db: 2,
    runs: 10,
  },
] as const;

for (const { name, connect, db, runs } of suites) {
  describe.skipIf(redisUrl === null)(`the Redis store decides exactly (${name})`, () => {
    const client = connect(db);
    const open = async () => {
      await client.flushdb();
      const clock = new ManualClock();
      const store = redisStoreAt(client, clock);
      return { store, setTimeUs: (us: number) => clock.setUs(us) };
    };
    for (const { name, run } of storeConformance({ open }, { runs })) test(name, run);
    afterAll(() => client.disconnect());
  });
}
