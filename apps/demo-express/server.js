/** Spillway on Express: a small service behind its limits, in memory or, with REDIS_URL, shared by a fleet. */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventLoopSignal } from '@spillway/core/node';
import { topCallers } from '@spillway/core/who';
import {
  admissionsOf,
  concurrencyLimit,
  decisionTable,
  fleetShedder,
  idempotency,
  memoryStore,
  rateLimit,
  spillway,
  workerShedder,
} from '@spillway/express';
import { redisControl, redisReports, redisStore } from '@spillway/redis';
import cors from 'cors';
import { cannotListen, complain, welcome } from 'demo-parts';
import express from 'express';
import { Redis } from 'ioredis';

const { PORT = 3000, LIMIT = 20, WINDOW = '1m', FOUR, TRUST_PROXY, REDIS_URL } = process.env;
const { ON_STORE_ERROR: onStoreError } = process.env; // by default 'local': if Redis fails, each process counts alone

// This is the only difference between one process and a fleet.
const redis = REDIS_URL ? new Redis(REDIS_URL, { socketTimeout: 1000 }) : undefined;
redis?.on('error', (error) => complain(`Redis: ${error.message || error.code}`));
const store = redis ? redisStore(redis) : memoryStore();
const control = redis && redisControl(redis); // for the commands of `spillway` that show or change settings
const callers = topCallers({ publishTo: redis && redisReports(redis) }); // for `spillway who` and `spillway top`
const observers = [decisionTable(), callers]; // the table is for development: a line for each rejection
const onFault = ({ limiter, source, error }) => complain(`${limiter}: ${source}: ${error.message}`);

// A demo has no accounts: a header and a path replace the account and its plan. Your service uses its authentication.
const apiKey = (request) => request.header('x-api-key'); // without one, the client's address is the key
const priority = ({ path }) => (path.startsWith('/charges') ? 'critical' : undefined);
const once = idempotency({ scope: (request) => apiKey(request) ?? request.clientIp });
const overload = [
  workerShedder({ name: 'workers', signal: eventLoopSignal(), priority }),
  fleetShedder({ name: 'fleet', capacity: 20, reserve: 0.2, priority }),
  concurrencyLimit({ name: 'in-flight', limit: 5, key: apiKey }),
];
const rates = [
  rateLimit({ name: 'per-address', limit: 60, window: WINDOW }),
  rateLimit({ name: 'trial', limit: 1, window: WINDOW, mode: 'shadow' }), // rejects nobody
];
const front = spillway([once, ...(FOUR === '1' ? overload : []), ...rates], {
  store,
  control,
  onStoreError,
  onFault,
  observers,
  skip: ({ path }) => path === '/health',
});
const keys = rateLimit({ name: 'per-key', limit: Number(LIMIT), window: WINDOW, key: apiKey });
const perKey = spillway(keys, { store, control, onStoreError, onFault, observers });

const app = express();
app.set('trust proxy', Number(TRUST_PROXY ?? 0)); // spillway reads it
app.use(
  cors({
    exposedHeaders: ['RateLimit', 'RateLimit-Policy', 'Retry-After', 'Idempotency-Replayed'],
  }),
);
app.use(front);
app.get('/', (_req, res) => res.type('text').send('Hello from behind a spillway.\n'));
app.get('/health', (_req, res) => res.type('text').send('ok\n'));
app.get('/things', perKey, (req, res) => {
  const decisions = admissionsOf(req).flatMap((admission) => admission.decisions);
  const { remaining } = decisions.find(({ limiter }) => limiter === 'per-key');
  res.json({ things: ['a dam', 'a gate'], remaining }); // null if Redis is away and ON_STORE_ERROR is allow
});
app.post('/charges', express.json(), async (req, res) => {
  const { amount, note } = req.body ?? {};
  await sleep(Math.min(Number(req.query.ms ?? 0), 5000)); // a slow bank
  res.status(201).json({ charged: true, id: randomUUID(), amount, note });
});
app.get('/report', (req, res) => {
  const end = performance.now() + Math.min(Number(req.query.ms ?? 50), 1000);
  while (performance.now() < end);
  res.type('text').send('done\n');
});
app.all('/stream', async (req, res) => {
  const chunks = Math.min(Number(req.query.chunks ?? 5), 600);
  res.type('text');
  for (let chunk = 1; chunk <= chunks && !req.socket.destroyed; chunk += 1) {
    res.write(`${chunk}\n`);
    await sleep(100);
  }
  res.end();
});
app.all('/fails', () => {
  throw new Error('the handler failed; the limits go on');
});

const server = app.listen(Number(PORT), (error) => {
  if (error) cannotListen(error);
  welcome(server.address().port, `Express, counting in ${redis ? 'Redis' : 'memory'}`);
});
server.on('error', cannotListen); // Express 4 reports it here

process.once('SIGTERM', () => {
  server.close(async () => {
    // Releases what this process still holds, and publishes the callers that it rejected last.
    await Promise.all([front.close(), perKey.close(), callers.close()]);
    redis?.disconnect();
  });
});
