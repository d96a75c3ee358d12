/** One store for all guards: in Redis, shared by the whole fleet, or in memory. */

import { memoryStore } from '@spillway/hono';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';

export function openStore(url) {
  if (!url) return { store: memoryStore(), disconnect: () => undefined };
  const redis = new Redis(url, { socketTimeout: 1000 });
  redis.on('error', () => undefined); // the guards report an outage, once a second
  return { store: redisStore(redis), disconnect: () => redis.disconnect() };
}
