import { Redis } from 'ioredis';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { expect, onTestFinished, test } from 'vitest';
import { agree } from './redis/agreement.js';

test.skipIf(redisProgram === null)('the model of Redis replies as Redis does', async () => {
  const server = await RedisServer.up();
  const redis = new Redis(server.port);
  onTestFinished(() => redis.disconnect());
  expect(await agree(redis, 15_000, 1)).toBeGreaterThanOrEqual(15_000);
});
