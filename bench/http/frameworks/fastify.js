/** Fastify 5 and its limiters, each with a limit per day and a header as the key, and two load shedders. */

import fastifyRateLimit from '@fastify/rate-limit';
import underPressure from '@fastify/under-pressure';
import { eventLoopSignal } from '@spillway/core/node';
import { rateLimit, spillway, workerShedder } from '@spillway/fastify';
import { redisStore } from '@spillway/redis';
import Fastify from 'fastify';

const DAY_MS = 86_400_000;

/** A server behind the plugin of a contender, with its options; `undefined` for a server without any. */
export async function serve(made) {
  const app = Fastify();
  if (made) await app.register(...made);
  app.get('/', () => ({ hello: 'world' }));
  await app.ready();
  return app.server;
}

function ours(limit, store) {
  const key = (request) => request.header('x-api-key');
  const limiters = rateLimit({ name: 'api', limit, window: '1d', key });
  return [spillway, { limiters, ...(store ? { store } : {}) }];
}

function peer(max, redis) {
  const keyGenerator = (request) => request.headers['x-api-key'];
  const options = { max, timeWindow: DAY_MS, keyGenerator, cache: 20_000 };
  return [fastifyRateLimit, { ...options, ...(redis ? { redis } : {}) }];
}

export const contenders = {
  bare: { title: '_no limiter_', make: () => undefined },
  ours: { title: 'Spillway, memory', make: (limit) => ours(limit) },
  peer: { title: '@fastify/rate-limit, memory', make: (limit) => peer(limit) },
  oursRedis: {
    title: 'Spillway, Redis',
    redis: true,
    make: (limit, client) => ours(limit, redisStore(client)),
  },
  peerRedis: {
    title: '@fastify/rate-limit, Redis',
    redis: true,
    make: (limit, client) => peer(limit, client),
  },
  shedder: {
    title: 'Spillway, worker shedder',
    sheds: true,
    make: () => [spillway, { limiters: workerShedder({ name: 'w', signal: eventLoopSignal() }) }],
  },
  pressure: {
    title: '@fastify/under-pressure',
    sheds: true,
    make: () => [underPressure, { maxEventLoopDelay: 1000, maxEventLoopUtilization: 0.98 }],
  },
};
