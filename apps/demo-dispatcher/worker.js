/** One worker: a process that sends messages, at a pace and a concurrency that all workers share. */

import { setTimeout as sleep } from 'node:timers/promises';
import { createShaper, pacedFetch } from '@spillway/outgoing';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { NAMES, PARTNERS, WORKERS } from './partners.js';

const [worker, partners] = process.argv.slice(2);
const urls = JSON.parse(partners);

const redis = new Redis(process.env.REDIS_URL, { socketTimeout: 1000 });
redis.on('error', () => undefined); // the shaper reports outages

const shaper = createShaper(
  {
    name: 'demo-dispatcher',
    limit: 4,
    window: '1s',
    maxConcurrent: 2,
    lease: '5s',
    maxWait: '20s',
    plan: (partner) => PARTNERS[partner],
  },
  // If Redis fails, each worker keeps its share of the pace.
  {
    store: redisStore(redis),
    storeTimeout: '1s',
    localShare: 1 / WORKERS,
    random: () => (worker - 1) / WORKERS, // spreads the workers' starts by number, not at random
    logger: worker === '1' ? console : false, // one worker reports an outage for all
  },
);

// A 429 pauses the partner for all workers. Then the call is retried, in the same order of priority.
const send = pacedFetch(shaper, {
  key: ({ url }) => new URL(url).pathname.slice(1),
  retries: 3,
  retryable: () => true,
  timeout: '5s',
});

let phase = 'quiet';
process.on('message', async (next) => {
  phase = next;
  if (phase !== 'stop') return;
  const { rejected, running } = await shaper.drain('3s');
  process.send({ worker, rejected, running }, () => {
    redis.disconnect();
    process.exit();
  });
});
process.once('disconnect', () => process.exit()); // the parent has exited

// The first call of a process loads code, which would delay a start.
await Promise.all([redis.ping(), ...Object.values(urls).map((url) => fetch(url))]);
process.send('ready');
setInterval(report, 250).unref();
for (let count = 0; ; count += 1) {
  await sleep(phase === 'busy' ? 200 : 500 + Math.random() * 2000);
  for (const partner of NAMES) void dispatch(partner, (count + Number(worker)) % 5 === 0);
}

async function dispatch(partner, isUrgent) {
  try {
    const response = await send(urls[partner], {
      method: 'POST',
      headers: { 'x-worker': worker, ...(isUrgent && { 'x-urgent': 'yes' }) },
      body: `Hello from worker ${worker}`,
      pace: { priority: isUrgent ? 1 : 0 },
    });
    await response.arrayBuffer();
  } catch {
    // Too many jobs wait, one waits too long, the partner does not answer, or the shaper is closed. A real worker would
    // keep the message.
  }
}

/** Sends the stats to the parent, for its health page. */
async function report() {
  const all = NAMES.map(async (partner) => [partner, await shaper.stats(partner)]);
  const stats = Object.fromEntries(await Promise.all(all));
  if (process.connected) process.send({ worker, stats });
}
