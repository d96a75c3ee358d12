/** One process of a fleet: schedules jobs of a shaper that all share, and tells its slots and its starts. */

import { createShaper } from '@spillway/core';
import { delayOf } from '@spillway/core/store';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';

const [url, limit, jobs] = process.argv.slice(2);
const redis = new Redis(url);
const shared = redisStore(redis);
const say = (told) => process.stdout.write(`${JSON.stringify(told)}\n`);

/** Tells what the store grants, by the store's clock. */
const store = {
  sync: false,
  async apply(steps, options) {
    const answers = await shared.apply(steps, options);
    for (const [i, { op, rule }] of steps.entries()) {
      const answer = answers[i];
      if (op === 'take' && answer.allowed) {
        say({ slotMs: answer.nowUs / 1_000 + delayOf(rule, answer) });
      }
    }
    return answers;
  },
};

const shaper = createShaper(
  { name: 'partner', limit: Number(limit), window: '1s' },
  { store, onStoreError: 'deny', storeTimeout: '5s' },
);
await redis.ping();
const work = () => say({ startMs: performance.timeOrigin + performance.now() });
await Promise.all(Array.from({ length: Number(jobs) }, () => shaper.schedule('acme', work)));
await shaper.close();
await redis.quit();
