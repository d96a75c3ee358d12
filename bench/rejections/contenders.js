/** Ways to reject a key that was rejected before, without asking the store again. */

import { createLimiter } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { RateLimiterRedis } from 'rate-limiter-flexible';

const DAY_MS = 86_400_000;

/** The store of every contender: it rejects all keys, as if they were used up long ago, and counts its calls. */
const store = remoteStore({
  sync: false,
  asked: 0,
  apply(steps) {
    store.asked += 1;
    const nowUs = Date.now() * 1000;
    const answer = { allowed: false, nowUs, tatUs: nowUs + 2 * DAY_MS * 1000, tatNum: 0 };
    return Promise.resolve(steps.map(() => answer));
  },
});

/** The minimum: one lookup in a map, and one read of the clock. */
function floor() {
  const until = new Map();
  return {
    async reject(key) {
      const end = until.get(key);
      if (end === undefined) {
        store.asked += 1;
        until.set(key, Date.now() + DAY_MS);
        return false;
      }
      return Date.now() >= end;
    },
  };
}

function spillway() {
  const limiter = createLimiter({ name: 'one', limit: 1, window: '1d' }, { store });
  return { reject: (key) => limiter.consume(key), passes: ({ allowed }) => allowed };
}

/** A Redis client that answers as if every key was used up long ago. */
const usedUp = {
  status: 'ready',
  defineCommand() {},
  rlflxIncr() {
    store.asked += 1;
    return Promise.resolve([1_000, DAY_MS]);
  },
};

function flexible() {
  const limiter = new RateLimiterRedis({
    points: 1,
    duration: DAY_MS / 1000,
    inMemoryBlockOnConsumed: 1,
    storeClient: usedUp,
  });
  return {
    reject: (key) =>
      limiter.consume(key).then(
        () => true,
        () => false,
      ),
  };
}

export const asked = () => store.asked;

export const contenders = {
  floor: { title: 'raw `Map`: `get`, one look at the clock', make: floor },
  spillway: { title: '**Spillway, `consume` of a rejected key**', make: spillway },
  flexible: { title: 'rate-limiter-flexible, `inMemoryBlockOnConsumed`', make: flexible },
};
