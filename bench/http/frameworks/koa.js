/** Koa 3, and its limiters. */

import { createServer } from 'node:http';
import { rateLimit, spillway } from '@spillway/koa';
import { redisStore } from '@spillway/redis';
import Koa from 'koa';
import koaRatelimit from 'koa-ratelimit';

const DAY_MS = 86_400_000;
const keyOf = (ctx) => ctx.get('x-api-key');

export function serve(middleware) {
  const app = new Koa();
  if (middleware) app.use(middleware);
  app.use((ctx) => {
    ctx.body = { hello: 'world' };
  });
  return createServer(app.callback());
}

function ours(limit, store) {
  const key = (request) => request.header('x-api-key');
  return spillway(rateLimit({ name: 'api', limit, window: '1d', key }), store ? { store } : {});
}

function peer(limit, driver, db) {
  return koaRatelimit({ driver, db, duration: DAY_MS, max: limit, id: keyOf });
}

export const contenders = {
  bare: { title: '_no limiter_', make: () => undefined },
  ours: { title: 'Spillway, memory', make: (limit) => ours(limit) },
  peer: { title: 'koa-ratelimit, memory', make: (limit) => peer(limit, 'memory', new Map()) },
  oursRedis: {
    title: 'Spillway, Redis',
    redis: true,
    make: (limit, client) => ours(limit, redisStore(client)),
  },
  peerRedis: {
    title: 'koa-ratelimit, Redis',
    redis: true,
    make: (limit, client) => peer(limit, 'redis', client),
  },
};
