/** One process of a fleet: holds permits of a shared limit for a while, and reports when, by the store's clock. */

import { concurrencyLimit, createGuard } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';

const [url, name, limit, seconds] = process.argv.slice(2);
const redis = new Redis(url);
const shared = redisStore(redis);

/** Writes a line synchronously, so it is written before a crash. */
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

/** The latest time of the store that this process has seen. */
let seenUs = 0;

/** Says each answer of the store, and each release also before it is sent: a crash can hide its answer. */
const store = remoteStore({
  sync: false,
  async apply(steps, options) {
    for (const { op, lease } of steps) {
      if (op === 'put' && lease) say({ op: 'putting', id: lease.id, allowed: true, nowUs: seenUs });
    }
    const answers = await shared.apply(steps, options);
    for (const [i, { op, lease }] of steps.entries()) {
      const { allowed, nowUs } = answers[i];
      seenUs = Math.max(seenUs, nowUs);
      if (lease) say({ op, id: lease.id, allowed, nowUs });
    }
    return answers;
  },
});

const guard = createGuard(
  concurrencyLimit({ name: 'shared', limit: Number(limit), lease: '1s', key: 'fleet' }),
  { store, storeTimeout: '5s' },
);
const request = { method: 'GET', path: '/', clientIp: undefined, header: () => undefined, raw: {} };

/** Some requests take longer than a lease, some are aborted. */
async function serve(number) {
  const admission = await guard.admit(request);
  const ms = number % 31 === 0 ? 1_500 : 1 + ((number * 13) % 40);
  await new Promise((resolve) => setTimeout(resolve, ms));
  admission.release(number % 3 === 0 ? { aborted: true } : { status: 200 });
}

await redis.ping();
const endMs = performance.now() + Number(seconds) * 1_000;
await Promise.all(
  Array.from({ length: 8 }, async (_, worker) => {
    for (let number = worker; performance.now() < endMs; number += 8) await serve(number);
  }),
);
await guard.close();
await redis.quit();
console.error(`${name} is done`);
