/** One process of a fleet that shares a pace. Each job calls the receiver, and reports its slot in headers. */

import { createShaper } from '@spillway/outgoing';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { StoreClock, toldStore } from 'spillway-testkit/store-clock';
import { answerCalls } from '../harness/child.js';

const [port, receiver, limit] = process.argv.slice(2);
const redis = new Redis(Number(port));
const clock = new StoreClock(redis);
const slots = [];
let starts = 0;
const store = toldStore(redisStore(redis), { onSlot: (slotMs) => slots.push(slotMs) });
const shaper = createShaper(
  { name: 'fleet', limit: Number(limit), window: '1s', maxWait: '1h' },
  { store, onStoreError: 'deny', storeTimeout: '5s' },
);

const wallMs = () => performance.timeOrigin + performance.now();

async function call() {
  const nowMs = clock.latestMs();
  starts += 1;
  const come = slots.filter((slotMs) => slotMs <= nowMs);
  const headers = {
    // Each start needs a slot that no other start has used, and whose time has come.
    'x-early': come.length < starts ? '1' : '0',
    // Converted to the clock that all processes of a machine share.
    'x-slot-ms': String(wallMs() - (nowMs - Math.max(...come))),
  };
  await (await fetch(receiver, { headers })).arrayBuffer();
}

answerCalls({
  async prepare() {
    await clock.start();
    // The first call of a process loads code, which would delay a start.
    await (await fetch(receiver)).arrayBuffer();
  },
  /** Schedules `jobs` jobs, and waits until all have run. */
  async run(jobs) {
    const all = [];
    for (let i = 0; i < jobs; i += 1) {
      all.push(shaper.schedule('acme', call));
      if (i % 5 === 4) await redis.ping(); // mixes the slots of all processes
    }
    await Promise.all(all);
  },
});
