/**
 * One process of a fleet whose logins are attacked: on request, guesses some times at once, and sends what was
 * admitted.
 */

import { createLimiter, lockFor } from '@spillway/core';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';

const [, , port, limit, guesses] = process.argv.map(Number);
const client = new Redis(port);
const penalty = lockFor(['15m', '1h', '1d']);
const limiter = createLimiter(
  { name: 'logins', limit, window: '15m', penalty },
  { store: redisStore(client), storeTimeout: '10s', onStoreError: 'deny' },
);
await limiter.consume('warm');
process.send('ready');
process.once('message', async () => {
  const decisions = await Promise.all(
    Array.from({ length: guesses }, () => limiter.consume('ada')),
  );
  const count = (test) => decisions.filter(test).length;
  process.send({
    admitted: count(({ allowed }) => allowed),
    failed: count(({ outcome }) => outcome === 'error'),
    waits: decisions.filter(({ allowed }) => !allowed).map(({ retryAfterMs }) => retryAfterMs),
  });
  client.disconnect();
});
