/**
 * One process of a service: it does a charge once for each idempotency key, and writes each effect into a file, which
 * stays when the process is killed.
 */

import { openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import {
  claimOf,
  concurrencyLimit,
  fixedWindow,
  idempotency,
  rateLimit,
  spillway,
} from '@spillway/express';
import { redisStore } from '@spillway/redis';
import express from 'express';
import { Redis } from 'ioredis';

const { REDIS_URL = '', NAME = '', EFFECTS = '', LEASE = '', KEEP_FIRST, WORK_MS } = process.env;
const redis = new Redis(REDIS_URL, { maxRetriesPerRequest: 0, retryStrategy: () => 50 });
redis.on('error', () => undefined);

const effects = openSync(join(EFFECTS, NAME), 'a');
const note = (effect) => writeSync(effects, `${JSON.stringify({ ...effect, by: NAME })}\n`);

const scope = (request) => request.header('x-account');
const many = { limit: 1_000_000, window: '400d', key: scope };
const guard = spillway(
  [
    idempotency({ scope, lease: LEASE, keepFirst: KEEP_FIRST === 'true' }),
    rateLimit({ ...many, name: 'charges', algorithm: fixedWindow }),
    rateLimit({ ...many, name: 'pace' }),
    concurrencyLimit({ name: 'at-once', limit: 1_000_000, key: scope, lease: LEASE }),
  ],
  { store: redisStore(redis), storeTimeout: '2s', logger: false },
);

const app = express();
app.use((req, _res, next) => {
  req.askedMs = Date.now();
  next();
});
app.post('/charges', guard, express.text({ type: '*/*' }), async (req, res) => {
  const { key, token } = claimOf(req);
  note({ what: 'begun', key, token, askedMs: req.askedMs, atMs: Date.now() });
  await new Promise((resolve) => setTimeout(resolve, Math.random() * Number(WORK_MS)));
  note({ what: 'done', key, token, atMs: Date.now() });
  res.status(201).json({ key, token });
});

await redis.ping();
const server = app.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  process.stdout.write(`port ${server.address().port}\n`);
});
