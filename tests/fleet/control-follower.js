/** One process of a fleet: decides all the time, and reports when its decisions change, by the wall clock. */

import { createGuard, rateLimit } from '@spillway/core';
import { redisControl } from '@spillway/redis';
import { Redis } from 'ioredis';

const [url] = process.argv.slice(2);
const redis = new Redis(url);
redis.on('error', () => {});
const limiter = rateLimit({ name: 'api', limit: 1, window: '400d', key: 'all' });
const guard = createGuard(limiter, { control: redisControl(redis) });
const request = { method: 'GET', path: '/', clientIp: undefined, header: () => undefined, raw: {} };

guard.admit(request); // the one that the limit allows

let last;
setInterval(() => {
  const [{ outcome }] = guard.admit(request).decisions;
  if (outcome !== last) process.stdout.write(`${JSON.stringify({ outcome, atMs: Date.now() })}\n`);
  last = outcome;
}, 5);
