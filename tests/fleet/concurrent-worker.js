/** One process of a fleet: sends calls to a receiver. All processes together may have only a few in flight. */

import { createShaper } from '@spillway/outgoing';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';

const [url, receiver, name, jobs, maxConcurrent] = process.argv.slice(2);
const redis = new Redis(url);
const shaper = createShaper(
  {
    name: 'partner',
    maxConcurrent: Number(maxConcurrent),
    lease: '2s',
    maxWait: '10m',
    maxQueue: 10_000,
  },
  { store: redisStore(redis), onStoreError: 'deny', storeTimeout: '5s' },
);

await Promise.all([redis.ping(), fetch(receiver)]);
process.send({ isReady: true });
process.once('disconnect', () => process.exit());
process.once('message', async () => {
  const send = () => fetch(`${receiver}/${name}`).then((response) => response.text());
  await Promise.all(Array.from({ length: Number(jobs) }, () => shaper.schedule('acme', send)));
  await shaper.close();
  await redis.quit();
  process.disconnect();
});
