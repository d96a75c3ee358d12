/**
 * Contenders that start jobs at a pace. Each makes two functions: one schedules a job, and one ends the contender.
 */

import { createRequire } from 'node:module';
import { createShaper } from '@spillway/outgoing';
import { redisStore } from '@spillway/redis';
import Bottleneck from 'bottleneck';
import { Redis } from 'ioredis';
import { RateLimiter } from 'limiter';
import PQueue from 'p-queue';
import pThrottle from 'p-throttle';

const require = createRequire(import.meta.url);
const LIMITS = { maxWait: '1h', maxQueue: 1_000_000 };

function spillway(periodMs) {
  const shaper = createShaper({ limit: 1, window: periodMs, ...LIMITS });
  return { schedule: (work) => shaper.schedule('acme', work), end: () => shaper.close() };
}

async function spillwayRedis(periodMs, port) {
  const redis = new Redis(port);
  const pace = { name: `paces-${Math.random()}`, limit: 1, window: periodMs, ...LIMITS };
  const settings = { onStoreError: 'deny', storeTimeout: '5s' };
  const shaper = createShaper(pace, { store: redisStore(redis), ...settings });
  await redis.ping();
  const end = async () => {
    await shaper.close();
    redis.disconnect();
  };
  return { schedule: (work) => shaper.schedule('acme', work), end };
}

function pQueue(periodMs) {
  const queue = new PQueue({ interval: periodMs, intervalCap: 1 });
  return { schedule: (work) => queue.add(work), end: () => undefined };
}

function throttle(periodMs) {
  const throttled = pThrottle({ limit: 1, interval: periodMs })((work) => work());
  return { schedule: throttled, end: () => undefined };
}

/** This library only counts tokens, so its users need a queue, in which each job waits for the one before it. */
function limiter(periodMs) {
  const tokens = new RateLimiter({ tokensPerInterval: 1, interval: periodMs });
  let last = Promise.resolve();
  const schedule = (work) => {
    last = last.then(() => tokens.removeTokens(1)).then(work);
    return last;
  };
  return { schedule, end: () => undefined };
}

function bottleneck(periodMs) {
  const paced = new Bottleneck({ minTime: periodMs });
  return { schedule: (work) => paced.schedule(async () => work()), end: () => paced.disconnect() };
}

async function bottleneckRedis(periodMs, port) {
  const paced = new Bottleneck({
    id: `paces-${Math.random()}`,
    minTime: periodMs,
    datastore: 'ioredis',
    clientOptions: { host: '127.0.0.1', port },
    Redis: require('ioredis'),
  });
  await paced.ready();
  return { schedule: (work) => paced.schedule(async () => work()), end: () => paced.disconnect() };
}

/** Sets a timer for each start. The starts are as even as this machine allows. */
function timer(periodMs) {
  let dueMs = -Infinity;
  const schedule = (work) => {
    const nowMs = performance.now();
    dueMs = Math.max(dueMs + periodMs, nowMs);
    return new Promise((resolve) => setTimeout(() => resolve(work()), dueMs - nowMs));
  };
  return { schedule, end: () => undefined };
}

export const inMemory = {
  spillway: { title: 'Spillway `createShaper().schedule`', make: spillway },
  bottleneck: { title: 'bottleneck, `minTime`', make: bottleneck },
  pQueue: { title: 'p-queue, `intervalCap: 1`', make: pQueue },
  throttle: { title: 'p-throttle, `limit: 1`', make: throttle },
  limiter: { title: 'limiter, `tokensPerInterval: 1`', make: limiter },
  timer: { title: '_a timer for each start_', make: timer },
};

export const inRedis = {
  spillwayRedis: { title: 'Spillway, on Redis', make: spillwayRedis },
  bottleneckRedis: { title: 'bottleneck, on Redis', make: bottleneckRedis },
};
