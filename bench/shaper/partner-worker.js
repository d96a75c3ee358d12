/** One process of a fleet that calls a partner as often as its shaper allows. */

import { createShaper, pacedFetch } from '@spillway/outgoing';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { answerCalls } from '../harness/child.js';

const [port, partner, periodMs] = process.argv.slice(2);
const JOBS = 2;
const shaper = createShaper(
  { name: `partner-${periodMs}`, limit: 1, window: Number(periodMs) },
  { store: redisStore(new Redis(Number(port))), onStoreError: 'deny', storeTimeout: '5s' },
);
const send = pacedFetch(shaper);

async function greedy() {
  for (;;) await (await send(`${partner}/messages`)).arrayBuffer();
}

answerCalls({
  async prepare() {
    await (await fetch(partner)).arrayBuffer();
  },
  begin() {
    for (let job = 0; job < JOBS; job += 1) void greedy();
  },
});
