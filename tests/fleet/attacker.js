/**
 * One process of a fleet under attack: requests one key as often as it can for some ms; prints how many requests were
 * rejected and admitted.
 */

import { createLimiter } from '@spillway/core';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';

const [, , port, limit, rate, ms] = process.argv.map(Number);
const client = new Redis(port);
const limiter = createLimiter(
  { name: 'api', limit, window: '1s', burst: 1 },
  { store: redisStore(client), storeTimeout: '5s' },
);
await limiter.consume('warm');
let refused = 0;
let admitted = 0;
const start = performance.now();
let asked = 0;
while (performance.now() - start < ms) {
  const due = ((performance.now() - start) / 1000) * rate;
  for (; asked < due; asked += 1) {
    const { allowed } = await limiter.consume('attacker');
    if (allowed) admitted += 1;
    else refused += 1;
  }
  await new Promise((resolve) => setTimeout(resolve, 1));
}
client.disconnect();
process.stdout.write(JSON.stringify({ refused, admitted }));
