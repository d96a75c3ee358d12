/** Compares the Redis store as users install it (its Lua has no comments) with the oracle. */

import { storeConformance } from '@spillway/conformance';
import { ManualClock } from '@spillway/core/testing';
import { redisStoreAt } from '@spillway/redis/testing';
import { Redis } from 'ioredis';

const redis = new Redis(process.argv[2]);
redis.on('error', () => {});

const open = async () => {
  await redis.flushdb();
  const clock = new ManualClock();
  return { store: redisStoreAt(redis, clock), setTimeUs: (us) => clock.setUs(us) };
};

const checks = storeConformance({ open, runs: 5 });
const failed = [];
for (const { name, run } of checks) {
  await run().catch((error) => failed.push(`${name}: ${error}`));
}
redis.disconnect();
process.stdout.write(JSON.stringify({ checks: checks.length, failed }));
