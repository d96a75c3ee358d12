/** A process with many requests in progress that releases their permits before it stops. */

import { concurrencyLimit, createGuard } from '@spillway/core';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';

const [url, count] = process.argv.slice(2);
const redis = new Redis(url);
const limit = concurrencyLimit({ name: 'shared', limit: 100_000, key: 'fleet' });
const guard = createGuard(limit, { store: redisStore(redis), storeTimeout: '10s' });
const request = { method: 'GET', path: '/', clientIp: undefined, header: () => undefined, raw: {} };

process.once('SIGTERM', async () => {
  await guard.close();
  redis.disconnect(); // not even a QUIT: Redis already has the releases
});
await redis.ping();
for (let taken = 0; taken < Number(count); taken += 200) {
  await Promise.all(Array.from({ length: 200 }, () => guard.admit(request)));
}
process.stdout.write(`${guard.inProgress}\n`);
