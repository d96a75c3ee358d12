/** One process of a fleet that calls a partner as often as `pacedFetch` allows. */

import { createShaper, pacedFetch } from '@spillway/outgoing';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { StoreClock, toldStore } from 'spillway-testkit/store-clock';

const [redisUrl, partnerUrl, periodMs] = process.argv.slice(2);
const JOBS = 2;
const redis = new Redis(redisUrl);
const clock = new StoreClock(redis);
await clock.start();

let slots = [];
const store = toldStore(redisStore(redis), { onSlot: (slotMs) => slots.push(slotMs) });
const shaper = createShaper(
  { name: 'partner', limit: 1, window: Number(periodMs) },
  { store, onStoreError: 'deny', storeTimeout: '5s' },
);
const wallMs = () => performance.timeOrigin + performance.now();
const send = pacedFetch(shaper, {
  // Tells the partner when the slot of the call was, by the clock that all processes of a machine share.
  fetch: (url) => fetch(url, { headers: { 'x-slot-ms': String(wallMs() - lateMs()) } }),
  onPause: ({ status }) => process.send({ status, pausedMs: wallMs() }),
});

/** How long ago the latest slot was whose time has come. Earlier slots are not needed any more. */
function lateMs() {
  const nowMs = clock.latestMs();
  const slotMs = Math.max(...slots.filter((ms) => ms <= nowMs));
  slots = slots.filter((ms) => ms >= slotMs);
  return nowMs - slotMs;
}

// The first call of a process loads code, which would delay a start.
await (await fetch(`${partnerUrl}/warm-up`)).arrayBuffer();
process.send({ isReady: true });
process.once('disconnect', () => process.exit());
process.once('message', () => {
  for (let job = 0; job < JOBS; job += 1) void greedy();
});

async function greedy() {
  for (;;) {
    const response = await send(`${partnerUrl}/messages`);
    await response.arrayBuffer();
  }
}
