import { redisStoreAt } from '@spillway/redis/testing';
import { Redis } from 'ioredis';
import { redisUrl } from 'spillway-testkit/redis';
import { afterAll, describe, it } from 'vitest';
import { expectSameAsMemory } from './same-as-memory.js';

describe.skipIf(redisUrl === null)('memory and Redis', () => {
  const client = new Redis(redisUrl ?? '', { db: 12, lazyConnect: true });
  afterAll(() => client.disconnect());

  it('answer the same, bit for bit, to every trace', () =>
    expectSameAsMemory(async (clock) => {
      await client.flushdb();
      return redisStoreAt(client, clock);
    }));
});
