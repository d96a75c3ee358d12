/** A separate Redis for the tests of its control. */

import { Redis } from 'ioredis';
import { type RedisServer, startServer } from 'spillway-testkit/redis';
import { afterAll, beforeAll, beforeEach, onTestFinished } from 'vitest';
import { type RedisControl, type RedisControlOptions, redisControl } from '../../src/index.js';

export const SETTINGS = 'spw:{%control}settings';

/** How long a test waits for something that must happen soon. */
export const soon = { timeout: 20_000, interval: 10 };

/** The Redis is empty before each test; clients and controls end with the test that makes them. */
export function redisForControls() {
  let server: RedisServer;
  let redis: Redis;

  beforeAll(async () => {
    server = await startServer();
    redis = new Redis(server.port);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.kill();
  });
  beforeEach(async () => void (await redis.flushall()));

  function connect(port = server.port, options = {}): Redis {
    const client = new Redis({ port, ...options });
    client.on('error', () => {});
    onTestFinished(() => client.disconnect());
    return client;
  }

  function control(options: RedisControlOptions & { client?: Redis } = {}): RedisControl {
    const { client = redis, ...own } = options;
    const made = redisControl(client, own);
    onTestFinished(() => made.close());
    return made;
  }

  return { redis: () => redis, port: () => server.port, connect, control };
}
