/** One process of a fleet: schedules jobs of a shaper that all share, and tells its slots and starts by the store's clock. */

import { createShaper } from '@spillway/core';
import { delayOf } from '@spillway/core/store';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';

const [url, limit, jobs, abortShare = '0'] = process.argv.slice(2);
const redis = new Redis(url);
const shared = redisStore(redis);
const say = (told) => process.send(told);

/** Tells what the store grants and what it takes back, by the store's clock. */
const store = {
  sync: false,
  async apply(steps, options) {
    const answers = await shared.apply(steps, options);
    for (const [i, { op, rule }] of steps.entries()) {
      const answer = answers[i];
      if (op === 'take' && answer.allowed) {
        say({ slotMs: answer.nowUs / 1_000 + delayOf(rule, answer) });
      }
      if (op === 'put' && answer.allowed) say({ isGivenBack: true });
    }
    return answers;
  },
};

/** How far ahead of ours the store's clock is at most, by the last answers; the fastest of them tells it best. */
class Ahead {
  samples = [];

  async learn() {
    const askedMs = performance.now();
    const [seconds, micros] = await redis.time();
    const aheadMs = Number(seconds) * 1_000 + Number(micros) / 1_000 - askedMs;
    this.samples = [...this.samples.slice(-19), aheadMs];
  }

  get mostMs() {
    return Math.min(...this.samples);
  }
}

const shaper = createShaper(
  { name: 'partner', limit: Number(limit), window: '1s', maxWait: '10m' },
  { store, onStoreError: 'deny', storeTimeout: '5s' },
);
const ahead = new Ahead();
for (let i = 0; i < 20; i += 1) await ahead.learn();
const timer = setInterval(() => ahead.learn(), 100);

// It tells the latest time that the store's clock may have shown.
const work = () => say({ startMs: performance.now() + ahead.mostMs });
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
    if (i % 5 === 4) await redis.ping(); // so that the slots of all processes are mixed
  }
  await Promise.all(all);
  clearInterval(timer);
  await shaper.close();
  await redis.quit();
  process.disconnect();
});
