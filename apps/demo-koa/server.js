/** Spillway on Koa: limits and load shedders on one small service, in memory or, with REDIS_URL, shared by a fleet. */

import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import cors from '@koa/cors';
import Router from '@koa/router';
import { eventLoopSignal } from '@spillway/core/node';
import * as spw from '@spillway/koa';
import { redisStore } from '@spillway/redis';
import { cannotListen, complain, welcome } from 'demo-parts';
import { Redis } from 'ioredis';
import Koa from 'koa';

const { PORT = 3000, LIMIT = 20, WINDOW: window = '1m' } = process.env;
const { FOUR, REDIS_URL, TRUST_PROXY = 0 } = process.env;

const redis = REDIS_URL ? new Redis(REDIS_URL, { socketTimeout: 1000 }) : undefined;
redis?.on('error', (error) => complain(`Redis: ${error.message || error.code}`));
const options = {
  store: redis ? redisStore(redis) : spw.memoryStore(),
  trustProxy: Number(TRUST_PROXY),
  skip: (request) => request.path === '/health',
  onFault: ({ limiter, source, error }) => complain(`${limiter}: ${source}: ${error.message}`),
  observers: [spw.decisionTable()], // while you develop: a line for each rejection
};

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
const front = spw.spillway([once, ...(FOUR === '1' ? shedders : []), perAddress, trial], options);
const things = spw.rateLimit({ name: 'per-key', limit: Number(LIMIT), window, key: apiKey });
const perKey = spw.spillway(things, options);

const router = new Router();
const text = (body) => (ctx) => Object.assign(ctx, { body });
router.get('/', text('Hello from behind a spillway.\n'));
router.get('/health', text('ok\n'));
router.get('/things', perKey, (ctx) => {
  const decisions = spw.admissionsOf(ctx).flatMap((admission) => admission.decisions);
  const { remaining } = decisions.find(({ limiter }) => limiter === 'per-key') ?? {};
  ctx.body = { things: ['a dam', 'a gate'], remaining }; // by this process's count while Redis is away
});
router.post('/charges', async (ctx) => {
  const { amount, note } = JSON.parse((await textOf(ctx.req)) || '{}');
  await sleep(Math.min(Number(ctx.query.ms ?? 0), 5000)); // a slow bank
  ctx.status = 201;
  ctx.body = { charged: true, id: randomUUID(), amount, note };
});
router.get('/report', (ctx) => {
  const end = performance.now() + Math.min(Number(ctx.query.ms ?? 50), 1000);
  while (performance.now() < end); // work that blocks the event loop
  ctx.body = 'done\n';
});
router.all('/stream', (ctx) => {
  ctx.type = 'text';
  ctx.body = Readable.from(lines(Math.min(Number(ctx.query.chunks ?? 5), 600), ctx.socket));
});
router.all('/fails', () => Promise.reject(new Error('the handler failed; the limits went on')));

const app = new Koa();
app.on('error', (error) => complain(error.message));
const exposed = ['RateLimit', 'RateLimit-Policy', 'Retry-After', 'Idempotency-Replayed'];
app.use(cors({ exposeHeaders: exposed }));
app.use(front).use(router.routes());

const server = app.listen(Number(PORT), () => {
  welcome(server.address().port, `Koa, counting in ${redis ? 'Redis' : 'memory'}`);
});
server.on('error', cannotListen);
process.once('SIGTERM', () =>
  server.close(async () => {
    await Promise.all([front.close(), perKey.close()]);
    redis?.disconnect();
  }),
);

/** Checks for a closed socket: Koa does not notice it while the response waits behind another one. */
async function* lines(count, socket) {
  for (let line = 1; line <= count && !socket.destroyed; line += 1) {
    yield `${line}\n`;
    await sleep(100);
  }
}
