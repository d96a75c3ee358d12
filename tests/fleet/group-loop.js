/** Sends full groups of 1,000 keys to Redis, one after another, until it gets a signal. Then prints how many. */

import { createLimiter } from '@spillway/core';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';

const redis = new Redis(process.argv[2]);
redis.on('error', () => {});
const store = redisStore(redis);
const sms = createLimiter({ name: 'sms', limit: 1_000_000, window: '1h' }, { store });
const outcomes = {};
let ends = false;
process.on('SIGTERM', () => {
  ends = true;
});
process.stdout.write('port 0\n'); // the line by which services report that they listen

for (let round = 0; !ends; round += 1) {
  const keys = Array.from({ length: 1_000 }, (_, i) => `recipient ${round % 50} ${i}`);
  const { binding } = await sms.consumeAll(keys);
  outcomes[binding.outcome] = (outcomes[binding.outcome] ?? 0) + 1;
}
process.stdout.write(`${JSON.stringify(outcomes)}\n`, () => process.exit());
