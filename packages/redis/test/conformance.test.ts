import { storeConformance } from '@spillway/conformance';
import { ManualClock } from '@spillway/core/testing';
import { Redis as Upstash } from '@upstash/redis';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { Redis as Valkey } from 'iovalkey';
import { createClient } from 'redis';
import { createClient as createClient5 } from 'redis5';
import { describeOnEachServer, type RedisServer, redisUrl } from 'spillway-testkit/redis';
import { UpstashServer } from 'spillway-testkit/upstash';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type AnyRedisClient, fromUpstash } from '../src/index.js';
import { redisStoreAt } from '../src/testing.js';

const url = redisUrl ?? '';

interface Connected {
  readonly client: AnyRedisClient;
  flush(): Promise<unknown>;
  close(): unknown;
}

// One logical database for each client, so that no other test interferes.
const suites: { name: string; runs: number; connect(db: number): Promise<Connected> }[] = [
  {
    name: 'ioredis 6',
    runs: 100,
    connect: async (db) => {
      const client = new Redis(url, { db });
      return { client, flush: () => client.flushdb(), close: () => client.disconnect() };
    },
  },
  {
    name: 'ioredis 5',
    runs: 10,
    connect: async (db) => {
      const client = new Redis5(url, { db });
      return { client, flush: () => client.flushdb(), close: () => client.disconnect() };
    },
  },
  {
    name: 'iovalkey',
    runs: 10,
    connect: async (db) => {
      const client = new Valkey(url, { db });
      return { client, flush: () => client.flushdb(), close: () => client.disconnect() };
    },
  },
  {
    name: 'node-redis 6',
    runs: 10,
    connect: async (database) => {
      const client = await createClient({ url, database }).connect();
      return { client, flush: () => client.flushDb(), close: () => client.destroy() };
    },
  },
  {
    name: 'node-redis 5',
    runs: 10,
    connect: async (database) => {
      const client = await createClient5({ url, database }).connect();
      return { client, flush: () => client.flushDb(), close: () => client.destroy() };
    },
  },
  {
    name: '@upstash/redis',
    runs: 5,
    connect: async (db) => {
      const redis = new Redis(url, { db });
      const http = await UpstashServer.start(redis);
      const client = fromUpstash(new Upstash({ url: http.url, token: http.token }));
      const close = async () => {
        await http.stop();
        redis.disconnect();
      };
      return { client, flush: () => redis.flushdb(), close };
    },
  },
];

for (const [at, { name, runs, connect }] of suites.entries()) {
  describe.skipIf(redisUrl === null)(`the Redis store decides exactly (${name})`, () => {
    let connected: Connected;
    beforeAll(async () => {
      connected = await connect(at + 1);
    });
    afterAll(() => connected.close());

    const open = async () => {
      await connected.flush();
      const clock = new ManualClock();
      const store = redisStoreAt(connected.client, clock);
      return { store, setTimeUs: (us: number) => clock.setUs(us) };
    };
    for (const { name, run } of storeConformance({ open }, { runs })) test(name, run);
  });
}

describeOnEachServer('the Redis store decides exactly', (start) => {
  let server: RedisServer;
  let redis: Redis;
  beforeAll(async () => {
    server = await start();
    redis = new Redis(server.port);
  });
  afterAll(async () => {
    redis?.disconnect();
    await server?.kill();
  });

  const open = async () => {
    await redis.flushall();
    const clock = new ManualClock();
    return { store: redisStoreAt(redis, clock), setTimeUs: (us: number) => clock.setUs(us) };
  };
  for (const { name, run } of storeConformance({ open }, { runs: 20 })) test(name, run);
});
