/** One process of a service: it charges an account once for each idempotency key, and writes down each effect. */

import { createServer } from 'node:http';
import { claimOf, idempotency, rateLimit } from '@spillway/core';
import { nodeGuard } from '@spillway/core/node';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';

const { REDIS_URL = '', NAME = '' } = process.env;
const redis = new Redis(REDIS_URL);
const scope = (request) => request.header('x-account');

const guard = nodeGuard(
  [
    idempotency({ scope, lease: '3s' }),
    rateLimit({
      name: 'charges',
      limit: 1_000_000,
      window: '400d',
      algorithm: 'fixed-window',
      key: scope,
    }),
  ],
  { store: redisStore(redis), storeTimeout: '2s', logger: false },
);

const server = createServer(async (req, res) => {
  if (!(await guard(req, res))) return;
  let body = '';
  for await (const chunk of req) body += String(chunk);
  const { key, token } = claimOf(req);
  await redis.rpush(`begun:${key}`, `${NAME} ${token}`);
  await new Promise((resolve) => setTimeout(resolve, (body.length * 7) % 30));
  await redis.rpush(`done:${key}`, `${NAME} ${token}`);
  res.writeHead(201, { 'Content-Type': 'application/json' });
  res.end(JSON.stringify({ key, token }));
});
await redis.ping();
server.listen(Number(process.env['PORT'] ?? 0), '127.0.0.1', () => {
  process.stdout.write(`port ${server.address().port}\n`);
});
