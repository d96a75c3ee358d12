/** Express 5 and its limiters: each has a limit per day, with a header as the key. */

import { createServer } from 'node:http';
import { spillway, rateLimit as spillwayRateLimit } from '@spillway/express';
import { redisStore } from '@spillway/redis';
import express from 'express';
import { rateLimit as expressRateLimit } from 'express-rate-limit';
import { RedisStore } from 'rate-limit-redis';
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible';

const DAY_MS = 86_400_000;
/** A server behind the middleware of a contender; `undefined` for a server without any. */
export function serve(middleware) {
  const app = express();
  if (middleware) app.use(middleware);
  app.get('/', (_req, res) => res.json({ hello: 'world' }));
  return createServer(app);
}

const keyOf = (req) => req.headers['x-api-key'];

function ours(limit, store) {
  const limiter = spillwayRateLimit({
    name: 'api',
    limit,
    window: '1d',
    key: (request) => keyOf(request.raw),
  });
  return spillway(limiter, store ? { store } : {});
}

function expressRate(limit, store) {
  return expressRateLimit({
    windowMs: DAY_MS,
    limit,
    keyGenerator: keyOf,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    ...(store ? { store } : {}),
  });
}

/** Used as its documentation shows, which sets the headers by hand. */
function flexible(limiter, limit) {
  return async (req, res, next) => {
    let state;
    let passes = true;
    try {
      state = await limiter.consume(keyOf(req));
    } catch (rejection) {
      if (rejection instanceof Error) throw rejection;
      state = rejection;
      passes = false;
    }
    res.set('X-RateLimit-Limit', String(limit));
    res.set('X-RateLimit-Remaining', String(state.remainingPoints));
    res.set('X-RateLimit-Reset', String(Math.ceil(state.msBeforeNext / 1000)));
    if (passes) return next();
    res.set('Retry-After', String(Math.ceil(state.msBeforeNext / 1000)));
    return res.status(429).send('Too Many Requests');
  };
}

const duration = DAY_MS / 1000;

export const contenders = {
  bare: { title: '_no limiter_', make: () => undefined },
  ours: { title: 'Spillway, memory', make: (limit) => ours(limit) },
  expressRate: { title: 'express-rate-limit, memory', make: (limit) => expressRate(limit) },
  flexible: {
    title: 'rate-limiter-flexible, memory',
    make: (limit) => flexible(new RateLimiterMemory({ points: limit, duration }), limit),
  },
  oursRedis: {
    title: 'Spillway, Redis',
    redis: true,
    make: (limit, client) => ours(limit, redisStore(client)),
  },
  expressRateRedis: {
    title: 'express-rate-limit + rate-limit-redis',
    redis: true,
    make: (limit, client) => {
      const sendCommand = (...args) => client.call(...args);
      return expressRate(limit, new RedisStore({ sendCommand, prefix: 'erl:' }));
    },
  },
  flexibleRedis: {
    title: 'rate-limiter-flexible, Redis',
    redis: true,
    make: (limit, client) => {
      const options = { storeClient: client, keyPrefix: 'rlf', points: limit, duration };
      return flexible(new RateLimiterRedis(options), limit);
    },
  },
};
