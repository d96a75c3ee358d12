/**
 * Reservations, and decisions for comparison. Like other contenders, each entry makes a function that takes a key and
 * returns a promise.
 */

import { createLimiter, memoryStore } from '@spillway/core';
import { createShaper } from '@spillway/outgoing';
import { redisStore } from '@spillway/redis';
import { makeKeys } from '../harness/keys.js';

// Nothing is rejected: a unit refills in 35 s, and a reservation may wait for it.
const RATE = { name: 'api', limit: 1_000_000, window: '400d' };
const WAITS = { ...RATE, maxWait: '400d' };
const KEYS = 10_000;
const ROOM = { maxEntries: 100_000_000 };

function consumeOf(store) {
  const limiter = createLimiter(RATE, { store, storeTimeout: '5s' });
  return async (key) => (await limiter.consume(key)).allowed;
}

function reserveOf(store, name = WAITS.name) {
  const shaper = createShaper({ ...WAITS, name }, { store, localShare: 1, storeTimeout: '5s' });
  return async (key) => (await shaper.reserve(key)).allowed;
}

async function reservePausedOf(store) {
  // The name is different, because the contenders share a Redis, and a pause holds back every shaper of the same name.
  const name = 'paused';
  const shaper = createShaper({ ...WAITS, name }, { store, localShare: 1, storeTimeout: '5s' });
  for (const key of makeKeys(KEYS)) await shaper.pause(key, '24h');
  return reserveOf(store, name);
}

const TITLES = {
  consume: '_`createLimiter().consume`_',
  reserve: '`createShaper().reserve`',
  paused: 'the same, of keys that are paused',
};

export const reservesInRedis = {
  consumes: { title: TITLES.consume, make: (client) => consumeOf(redisStore(client)) },
  reserves: { title: TITLES.reserve, make: (client) => reserveOf(redisStore(client)) },
  paused: { title: TITLES.paused, make: (client) => reservePausedOf(redisStore(client)) },
};

export const reservesInMemory = {
  consumes: { title: TITLES.consume, make: () => consumeOf(memoryStore(ROOM)), later: true },
  reserves: { title: TITLES.reserve, make: () => reserveOf(memoryStore(ROOM)), later: true },
};
