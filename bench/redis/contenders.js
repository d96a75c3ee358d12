/** Contenders in Redis. Each makes a function that takes a key and returns a promise, on one client of ioredis. */

import { readFileSync } from 'node:fs';
import { createLimiter } from '@spillway/core';
import { makeRule } from '@spillway/core/store';
import { redisStore } from '@spillway/redis';
import { RedisStore } from 'rate-limit-redis';
import { RateLimiterRedis } from 'rate-limiter-flexible';

// Nothing is rejected, and no key expires during a run, as in the measurements in memory.
const LIMIT = 1_000_000;
const WINDOW_US = 400 * 86_400_000_000;
const UNIT_US = WINDOW_US / LIMIT;
const DAY_MS = 86_400_000;
const THREE = ['second', 'minute', 'day'];

/** The servers of a client: one, or the masters of a Cluster. */
export function mastersOf(client) {
  return client.isCluster ? client.nodes('master') : [client];
}

/** Loads a script on all servers. Returns its SHA-1. */
async function load(client, text) {
  const shas = await Promise.all(mastersOf(client).map((master) => master.script('LOAD', text)));
  return shas[0];
}

async function returnOne(client) {
  const sha = await load(client, 'return 1');
  return (key) => client.evalsha(sha, 1, `one:${key}`);
}

async function gcra(client) {
  const sha = await load(client, readFileSync(new URL('gcra.lua', import.meta.url), 'utf8'));
  return (key, limiter = 'tat') => {
    return client.evalsha(sha, 1, `${limiter}:${key}`, Date.now() * 1000, UNIT_US, WINDOW_US);
  };
}

async function threeCalls(client) {
  const decide = await gcra(client);
  return (key) => Promise.all(THREE.map((limiter) => decide(key, limiter)));
}

function apply(options, limiters) {
  return (client) => {
    const store = redisStore(client, options);
    const rule = makeRule('token-bucket', LIMIT, WINDOW_US);
    return (key) => {
      const step = (limiter) => ({ op: 'take', limiter, key, rule, cost: 1, binding: true });
      return store.apply(limiters.map(step));
    };
  };
}

function consume(settings) {
  return (client) => {
    const limiter = createLimiter(
      { name: 'api', limit: LIMIT, window: '400d' },
      { store: redisStore(client), ...settings },
    );
    return (key) => limiter.consume(key);
  };
}

async function rateLimitRedis(client) {
  const sendCommand = (...args) => client.call(...args);
  const store = new RedisStore({ sendCommand, prefix: 'rlr:' });
  await store.init({ windowMs: DAY_MS });
  return (key) => store.increment(key);
}

function flexible(client) {
  const limiter = new RateLimiterRedis({
    storeClient: client,
    keyPrefix: 'rlf',
    points: LIMIT,
    duration: DAY_MS / 1000,
  });
  return (key) => limiter.consume(key);
}

export const contenders = {
  one: { title: '_`EVALSHA` of `return 1`_', make: returnOne },
  gcra: { title: '_bare script: one token bucket, one `EVALSHA`_', make: gcra },
  apply: { title: 'Spillway `redisStore().apply`', make: apply({}, ['api']) },
  single: { title: 'Spillway, `coalesce: false`', make: apply({ coalesce: false }, ['api']) },
  consume: { title: 'Spillway `createLimiter().consume`', make: consume({}) },
  allow: {
    title: "the same without fallback counters, `onStoreError: 'allow'`",
    make: consume({ onStoreError: 'allow' }),
  },
  rateLimitRedis: { title: 'rate-limit-redis `increment`', make: rateLimitRedis },
  flexible: { title: 'rate-limiter-flexible `RateLimiterRedis.consume`', make: flexible },
};

/** Contenders for a request with three limits. */
export const threefold = {
  three: { title: '_bare script: three `EVALSHA` at once_', make: threeCalls },
  apply3: { title: 'Spillway, one `apply` of three steps', make: apply({}, THREE) },
  single3: { title: 'the same, `coalesce: false`', make: apply({ coalesce: false }, THREE) },
};
