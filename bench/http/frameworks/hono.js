/** Hono 4 on Node, and its limiters. */

import { createAdaptorServer } from '@hono/node-server';
import { rateLimit, spillway } from '@spillway/hono';
import { redisStore } from '@spillway/redis';
import { Hono } from 'hono';
import { rateLimiter } from 'hono-rate-limiter';
import { RedisStore } from 'rate-limit-redis';

const DAY_MS = 86_400_000;

export function serve(middleware) {
  const app = new Hono();
  if (middleware) app.use(middleware);
  app.get('/', (c) => c.json({ hello: 'world' }));
  return createAdaptorServer({ fetch: app.fetch });
}

function ours(limit, store) {
  const key = (request) => request.header('x-api-key');
  return spillway(rateLimit({ name: 'api', limit, window: '1d', key }), store ? { store } : {});
}

function peer(limit, store) {
  return rateLimiter({
    windowMs: DAY_MS,
    limit,
    standardHeaders: 'draft-6',
    keyGenerator: (c) => c.req.header('x-api-key'),
    ...(store ? { store } : {}),
  });
}

export const contenders = {
  bare: { title: '_no limiter_', make: () => undefined },
  ours: { title: 'Spillway, memory', make: (limit) => ours(limit) },
  peer: { title: 'hono-rate-limiter, memory', make: (limit) => peer(limit) },
  oursRedis: {
    title: 'Spillway, Redis',
    redis: true,
    make: (limit, client) => ours(limit, redisStore(client)),
  },
  peerRedis: {
    title: 'hono-rate-limiter + rate-limit-redis',
    redis: true,
    make: (limit, client) =>
      peer(
        limit,
        new RedisStore({ sendCommand: (...args) => client.call(...args), prefix: 'hrl:' }),
      ),
  },
};
