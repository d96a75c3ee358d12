/** One process of a fleet: schedules jobs of a shared shaper, and reports its slots and starts by the store's clock. */

import { createShaper } from '@spillway/outgoing';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { StoreClock, toldStore } from 'spillway-testkit/store-clock';

const [url, limit, jobs, abortShare] = process.argv.slice(2);
const redis = new Redis(url);
const say = (told) => process.send(told);
const store = toldStore(redisStore(redis), {
  onSlot: (slotMs) => say({ slotMs }),
  onGivenBack: () => say({ isGivenBack: true }),
});
const shaper = createShaper(
  { name: 'partner', limit: Number(limit), window: '1s', maxWait: '10m' },
  { store, onStoreError: 'deny', storeTimeout: '5s' },
);
const clock = new StoreClock(redis);
await clock.start();

const work = () => say({ startMs: clock.latestMs() });
const one = () => {
  const abort = new AbortController();
  const isAborted = Math.random() < Number(abortShare);
  // At any time before most of them start.
  if (isAborted) setTimeout(() => abort.abort('aborted'), Math.random() * 5_000);
  return shaper.schedule('acme', work, { signal: abort.signal }).catch((reason) => {
    if (reason !== 'aborted') throw reason;
    say({ isAborted: true });
  });
};

say({ isReady: true });
process.once('disconnect', () => process.exit());
process.once('message', async () => {
  const all = [];
  for (let i = 0; i < Number(jobs); i += 1) {
    all.push(one());
    if (i % 5 === 4) await redis.ping(); // mixes the slots of all processes
  }
  await Promise.all(all);
  clock.stop();
  await shaper.close();
  await redis.quit();
  process.disconnect();
});
