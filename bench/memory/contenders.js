/** Contenders in memory. Each makes a function that takes a key and returns whether it passes, or a promise of that. */

import { createGuard, createLimiter, memoryStore, rateLimit } from '@spillway/core';
import { makeRule } from '@spillway/core/store';
import { topCallers } from '@spillway/core/who';
import { MemoryStore } from 'express-rate-limit';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { UserRequest } from '../harness/user-request.js';

// Nothing is rejected: a unit refills in 35 s, and the burst is large. Only the entries of `passing` expire.
const RATE = 1_000_000;
const BURST = 60_000_000;
const WINDOW_US = 400 * 86_400_000_000;
const LIMIT = 1_000_000_000;
const ROOM = { maxEntries: 100_000_000 };
/** Other libraries use a timer for a window, and timers support at most 24 days. */
const DAY_MS = 86_400_000;

function floor() {
  const counts = new Map();
  return (key) => {
    const now = Date.now();
    let entry = counts.get(key);
    if (entry === undefined || now >= entry.reset) {
      entry = { count: 0, reset: now + DAY_MS };
      counts.set(key, entry);
    }
    entry.count += 1;
    return entry.count <= LIMIT;
  };
}

function floorWithResult() {
  const counts = new Map();
  const decide = (key) => {
    const now = Date.now();
    let entry = counts.get(key);
    if (entry === undefined || now >= entry.reset) {
      entry = { count: 0, reset: now + DAY_MS };
      counts.set(key, entry);
    }
    entry.count += 1;
    const { count, reset } = entry;
    return { allowed: count <= LIMIT, limit: LIMIT, remaining: LIMIT - count, reset, now };
  };
  return (key) => decide(key).allowed;
}

/** The window of the log whose entries expire, as a number of decisions. */
const PASSING = 200_000;

/** A clock that takes as long to read as the system's clock, but advances by a microsecond with each decision. */
function countingClock() {
  let us = Date.now() * 1000;
  return {
    nowUs() {
      performance.now();
      us += 1;
      return us;
    },
  };
}

/** One step on the memory store. The step object is created once, and only its key changes. */
function applyOf(algorithm, { windowUs = WINDOW_US, clock = () => undefined } = {}) {
  return () => {
    const store = memoryStore({ ...ROOM, clock: clock() });
    const isBucket = algorithm === 'token-bucket';
    const rule = makeRule(algorithm, isBucket ? RATE : LIMIT, windowUs, BURST);
    const step = { op: 'take', limiter: 'api', key: '', rule, cost: 1, binding: true };
    const steps = [step];
    return (key) => {
      step.key = key;
      return store.apply(steps)[0].allowed;
    };
  };
}

function consume(observers) {
  const limiter = createLimiter(
    { name: 'api', limit: RATE, window: '400d', burst: BURST },
    { store: memoryStore(ROOM), observers },
  );
  return (key) => {
    const { allowed, remaining, retryAfterMs, resetMs } = limiter.consume(key);
    return allowed && remaining >= 0 && retryAfterMs >= 0 && resetMs >= 0;
  };
}

function guardOf(numbers, observers) {
  const limiter = rateLimit({ name: 'api', ...numbers, key: ({ raw }) => raw });
  return createGuard(limiter, { store: memoryStore(ROOM), observers });
}

/** A guard's answer, read as adapters read it. The limit refills as fast as it is used, with numbers of usual size. */
function admit(observers) {
  const guard = guardOf({ limit: 10_000, window: '1ms' }, observers);
  return (key) => {
    const { status, headers, pending } = guard.admit(new UserRequest(key));
    return status === 200 && headers.length === 2 && !pending;
  };
}

/** Rejects all requests of a key but the first. A correct rejection is reported as passed, for the harness. */
function rejection(observers) {
  const guard = guardOf({ limit: 1, window: '400d' }, observers);
  return (key) => {
    const { allowed, status, headers, body } = guard.admit(new UserRequest(key));
    return allowed || (status === 429 && headers.length === 5 && body !== '');
  };
}

function flexible() {
  const limiter = new RateLimiterMemory({ points: LIMIT, duration: DAY_MS / 1000 });
  return (key) => limiter.consume(key);
}

function expressRateLimit() {
  const store = new MemoryStore();
  store.init({ windowMs: DAY_MS });
  return (key) => store.increment(key);
}

/** With `later`, the contender returns a promise, which is awaited. */
export const contenders = {
  loop: { title: '_an empty loop_', make: () => (key) => key.length > 0 },
  floor: { title: '_raw `Map` of objects, fixed window, `Date.now()`_', make: floor },
  result: { title: '_raw `Map`, returning a result object_', make: floorWithResult },
  bucket: { title: 'Spillway `apply`, token bucket', make: applyOf('token-bucket') },
  consume: {
    title: 'Spillway `createLimiter().consume`, with its numbers read',
    make: () => consume(),
  },
  admit: { title: 'Spillway `createGuard().admit`, status and headers read', make: () => admit() },
  rejection: { title: 'the same, a rejection with its body', make: () => rejection() },
  fixed: { title: 'Spillway `apply`, fixed window', make: applyOf('fixed-window') },
  counter: {
    title: 'Spillway `apply`, sliding window counter',
    make: applyOf('sliding-window-counter'),
  },
  log: { title: 'Spillway `apply`, sliding window log', make: applyOf('sliding-window-log') },
  passing: {
    title: 'the same, entries end as fast as they come',
    make: applyOf('sliding-window-log', { windowUs: PASSING, clock: countingClock }),
  },
  expressRateLimit: {
    title: 'express-rate-limit `MemoryStore.increment`',
    make: expressRateLimit,
    later: true,
  },
  flexible: {
    title: 'rate-limiter-flexible `RateLimiterMemory.consume`',
    make: flexible,
    later: true,
  },
};

/** The same limiters and guards with an observer that does nothing, called as `topCallers` is, and with `topCallers`. */
export const observed = {
  consumeWho: { make: () => consume([topCallers()]) },
  consumeObserved: { make: () => consume([{ countDecision() {} }]) },
  admitObserved: { make: () => admit([{ countDecision() {} }]) },
  admitWho: { make: () => admit([topCallers()]) },
  rejectionObserved: { make: () => rejection([{ countDecision() {} }]) },
  rejectionWho: { make: () => rejection([topCallers()]) },
};
