/** Spillway on Fastify: limits and load shedders on one small service, in memory or, with REDIS_URL, shared by a fleet. */

import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import cors from '@fastify/cors';
import { eventLoopSignal } from '@spillway/core/node';
import * as spw from '@spillway/fastify';
import { redisStore } from '@spillway/redis';
import { cannotListen, complain, welcome } from 'demo-parts';
import Fastify from 'fastify';
import { Redis } from 'ioredis';

const { PORT = 3000, LIMIT = 20, WINDOW: window = '1m' } = process.env;
const { FOUR, REDIS_URL, TRUST_PROXY = 0 } = process.env;

const redis = REDIS_URL ? new Redis(REDIS_URL, { socketTimeout: 1000 }) : undefined;
redis?.on('error', (error) => complain(`Redis: ${error.message || error.code}`));

// A demo has no accounts: a header and a path replace the account and its plan. Your service uses its authentication.
const apiKey = (request) => request.header('x-api-key'); // without one, the client's address is the key
const priority = ({ path }) => (path.startsWith('/charges') ? 'critical' : undefined);
const once = spw.idempotency({ scope: (request) => apiKey(request) ?? request.clientIp });
const shedders = [
  spw.workerShedder({ name: 'workers', signal: eventLoopSignal(), priority }),
  spw.fleetShedder({ name: 'fleet', capacity: 20, reserve: 0.2, priority }),
  spw.concurrencyLimit({ name: 'in-flight', limit: 5, key: apiKey }),
];
const perAddress = spw.rateLimit({ name: 'per-address', limit: 60, window });
const trial = spw.rateLimit({ name: 'trial', limit: 1, window, mode: 'shadow' }); // a dark launch
const perKey = spw.rateLimit({ name: 'per-key', limit: Number(LIMIT), window, key: apiKey });

const app = Fastify();
const exposed = ['RateLimit', 'RateLimit-Policy', 'Retry-After', 'Idempotency-Replayed'];
await app.register(cors, { exposedHeaders: exposed });
app.register(spw.spillway, {
  limiters: [once, ...(FOUR === '1' ? shedders : []), perAddress, trial],
  groups: { things: perKey },
  store: redis ? redisStore(redis) : spw.memoryStore(),
  trustProxy: Number(TRUST_PROXY),
  onFault: ({ limiter, source, error }) => complain(`${limiter}: ${source}: ${error.message}`),
  observers: [spw.decisionTable()], // while you develop: a line for each rejection
});

app.get('/', () => 'Hello from behind a spillway.\n');
app.get('/health', { config: { spillway: false } }, () => 'ok\n');
app.get('/things', { config: { spillway: 'things' } }, (request) => {
  const decisions = spw.admissionsOf(request).flatMap((admission) => admission.decisions);
  const { remaining } = decisions.find(({ limiter }) => limiter === 'per-key') ?? {};
  return { things: ['a dam', 'a gate'], remaining }; // by this process's count while Redis is away
});
app.post('/charges', async ({ body, query }, reply) => {
  const { amount, note } = body ?? {};
  await sleep(Math.min(Number(query.ms ?? 0), 5000)); // a slow bank
  return reply.code(201).send({ charged: true, id: randomUUID(), amount, note });
});
app.get('/report', ({ query }) => {
  const end = performance.now() + Math.min(Number(query.ms ?? 50), 1000);
  while (performance.now() < end); // work that blocks the event loop
  return 'done\n';
});
app.all('/stream', ({ query, socket }, reply) => {
  reply.type('text/plain');
  return Readable.from(lines(Math.min(Number(query.chunks ?? 5), 600), socket));
});
app.all('/fails', () => Promise.reject(new Error('the handler failed; the limits went on')));

const host = '0.0.0.0'; // otherwise Fastify listens only on the loopback
await app.listen({ port: Number(PORT), host }).catch(cannotListen);
welcome(app.server.address().port, `Fastify, counting in ${redis ? 'Redis' : 'memory'}`);
process.once('SIGTERM', () => app.close().then(() => redis?.disconnect())); // releases permits

/** Checks for a closed socket: Fastify does not notice it while the response waits behind another one. */
async function* lines(count, socket) {
  for (let line = 1; line <= count && !socket.destroyed; line += 1) {
    yield `${line}\n`;
    await sleep(100);
  }
}
