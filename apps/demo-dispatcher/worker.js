/** One worker: a process that sends messages, each in a slot of a line that all workers share. */

import { once } from 'node:events';
import { setTimeout as timer } from 'node:timers/promises';
import { createShaper } from '@spillway/outgoing';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { carrierOf, LINES, linesOf, MAX_WAIT_MS, PER_SECOND, WORKERS } from './lines.js';

const [worker, carriers] = process.argv.slice(2);
const urls = JSON.parse(carriers);

const redis = new Redis(process.env.REDIS_URL, { socketTimeout: 1000 });
redis.on('error', () => undefined); // the shaper tells of outages

const shaper = createShaper(
  { name: 'demo-dispatcher', limit: PER_SECOND, window: '1s', maxWait: MAX_WAIT_MS },
  // Without Redis each of the workers keeps its share of the pace.
  {
    store: redisStore(redis),
    storeTimeout: '1s',
    localShare: 1 / WORKERS,
    random: () => (worker - 1) / WORKERS, // the workers have numbers: they need no chance to start apart
    logger: worker === '1' ? console : false, // one voice will do
  },
);

let phase = 'quiet';
let changed = new AbortController();
process.on('message', (next) => {
  phase = next;
  changed.abort();
  changed = new AbortController();
});
process.once('disconnect', () => process.exit()); // its parent is gone

// What the first call of a process loads would make a start late.
await Promise.all([redis.ping(), ...Object.values(urls).map((url) => fetch(url))]);
process.send('ready');
await once(process, 'message');
while (phase !== 'stop') {
  if (phase === 'quiet') await sleep(Math.random() * 4000);
  if (phase !== 'stop') await dispatch(`Hello from worker ${worker}`);
}
await shaper.close();
redis.disconnect();
process.exit();

/** Sends a message by the first line whose queue is short enough; after a rejection it is sent again. */
async function dispatch(text) {
  while (phase !== 'stop') {
    const slot = await shaper.reserveFirst(LINES);
    if (!slot.allowed) {
      await sleep(Math.max(slot.wouldWaitMs - MAX_WAIT_MS, 50)); // all queues are too long
      continue;
    }
    await timer(Math.ceil(slot.delayMs)); // a timer drops what is less than 1 ms
    const carrier = carrierOf(slot.key);
    const response = await send(`${urls[carrier]}/${slot.key}`, text);
    if (response.status !== 429) return;
    await shut(carrier, Number(response.headers.get('retry-after')));
  }
}

/** The whole carrier is shut, and no worker is to ask it before that. */
async function shut(carrier, seconds) {
  try {
    await Promise.all(linesOf(carrier).map((line) => shaper.pause(line, `${seconds}s`)));
  } catch (error) {
    if (error.code !== 'SPW_STORE_UNAVAILABLE') throw error;
    await sleep(seconds * 1000); // the pause cannot be shared: only this worker keeps away
  }
}

async function send(url, body) {
  const response = await fetch(url, { method: 'POST', headers: { 'x-worker': worker }, body });
  await response.arrayBuffer();
  return response;
}

/** Waits, until the phase changes at the longest. */
async function sleep(ms) {
  await timer(ms, undefined, { signal: changed.signal }).catch(() => undefined);
}
