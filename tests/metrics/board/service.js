/**
 * The service behind the picture of the dashboard: every kind of limiter, in a separate process. Arguments: its port,
 * Redis's.
 */

import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventLoopSignal } from '@spillway/core/node';
import {
  concurrencyLimit,
  fixedWindow,
  fleetShedder,
  idempotency,
  memoryStore,
  rateLimit,
  spillway,
  workerShedder,
} from '@spillway/express';
import { prometheusObserver } from '@spillway/prometheus';
import { redisStore } from '@spillway/redis';
import express from 'express';
import { Redis } from 'ioredis';
import { register } from 'prom-client';

const [port, redisPort] = process.argv.slice(2).map(Number);
const redis = new Redis(redisPort, '127.0.0.1', { socketTimeout: 1000 });
redis.on('error', () => undefined);

const metrics = prometheusObserver();
const account = (request) => request.header('x-api-key');
const brokenNow = (request) => {
  if (!request.header('x-tenant')) throw new Error('no tenant');
  return request.header('x-tenant');
};
const signal = eventLoopSignal();
const workers = workerShedder({ name: 'workers', signal, priority: classOf });
const options = {
  store: redisStore(redis),
  storeTimeout: '250ms', // clients and servers share the processors of one machine here
  observers: [metrics],
  onFault: () => undefined,
  logger: false,
};
const api = spillway(
  [
    workers,
    fleetShedder({ name: 'fleet', capacity: 30, reserve: 0.2, priority: classOf }),
    concurrencyLimit({ name: 'in-flight', limit: 5, key: account }),
    idempotency({ name: 'once', scope: account }),
    rateLimit({ name: 'per-key', limit: 300, window: '1m', key: account }),
    rateLimit({ name: 'trial', limit: 60, window: '1m', key: account, mode: 'shadow' }),
  ],
  options,
);
const login = spillway(rateLimit({ name: 'login', limit: 30, window: '1m', key: account }), {
  ...options,
  onStoreError: 'deny',
});
const pages = spillway(
  rateLimit({ name: 'pages', limit: 100, window: '1m', algorithm: fixedWindow }),
  {
    ...options,
    store: memoryStore({ maxEntries: 1_000 }),
  },
);
const tenants = spillway(
  rateLimit({ name: 'tenants', limit: 1_000, window: '1m', key: brokenNow }),
  options,
);
metrics.watch({ guards: [api], shedders: [workers], signals: [signal, signal.wait] });

const app = express();
app.set('trust proxy', 1);
app.get('/metrics', async (_req, res) =>
  res.type(register.contentType).send(await register.metrics()),
);
app.post('/login', login, (_req, res) => res.json({}));
app.get('/pages', pages, (_req, res) => res.send('page'));
app.get('/tenants', tenants, (_req, res) => res.json({}));
app.use(api);
app.get('/things', (_req, res) => res.json({}));
app.post('/charges', express.json(), async (req, res) => {
  await sleep(20);
  res.status(201).json({ amount: req.body?.amount });
});
app.get('/report', (_req, res) => res.send(burn(14)));
app.post('/report', (_req, res) => res.send(burn(14)));
app.get('/stream', async (_req, res) => {
  await sleep(3_000);
  res.send('end');
});
app.listen(port, '127.0.0.1');

function classOf(request) {
  if (request.path.startsWith('/charges')) return 'critical';
  return request.header('x-test') === undefined ? undefined : 'test';
}

function burn(ms) {
  const end = performance.now() + ms;
  let text = '';
  while (performance.now() < end) text = createHash('sha256').update(text).digest('hex');
  return text;
}
