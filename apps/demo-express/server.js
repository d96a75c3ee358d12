/** Spillway on Express: three limits on one small service, in memory or, with REDIS_URL, shared by a fleet. */

import { admissionsOf, memoryStore, rateLimit, spillway } from '@spillway/express';
import { redisStore } from '@spillway/redis';
import express from 'express';
import { Redis } from 'ioredis';

const { PORT = '3000', LIMIT = '100', WINDOW = '1m', BURST, REDIS_URL } = process.env;

// All that differs between one process and a fleet. While Redis is away, requests pass (onStoreError: 'allow').
const redis = REDIS_URL ? new Redis(REDIS_URL) : undefined;
const options = {
  store: redis ? redisStore(redis) : memoryStore(),
  onFault: ({ limiter, source, error }) => complain(`${limiter}: ${source}: ${error.message}`),
};
redis?.on('error', (error) => complain(`Redis: ${error.message || error.code}`));

// Everyone, by client address; a load balancer's probes are not counted.
const front = spillway(rateLimit({ name: 'front', limit: 60, window: '1m' }), {
  ...options,
  skip: (request) => request.path === '/healthz',
});

// By API key, and by address for those without one. An export costs as much as ten other requests.
const perKey = spillway(
  rateLimit({
    name: 'per-key',
    limit: Number(LIMIT),
    window: WINDOW,
    burst: BURST ? Number(BURST) : undefined,
    key: (request) => request.header('x-api-key'),
    cost: (request) => (request.route === '/api/export' ? 10 : 1),
  }),
  options,
);

// Only failures count: whoever logs in gets the unit back.
const succeeded = ({ status, aborted }) => status === 200 && !aborted;
const failed = rateLimit({ name: 'failed-logins', limit: 5, window: '15m', refundIf: succeeded });

const app = express();
app.get(['/', '/healthz', '/stream', '/fail'], front);
app.get('/', (_req, res) => res.send('Hello from behind a spillway.\n'));
app.get('/healthz', (_req, res) => res.send('ok\n'));
app.get('/stream', async (_req, res) => {
  for (let chunk = 1; chunk <= 5 && !res.destroyed; chunk += 1) {
    res.write(`${chunk}\n`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  res.end();
});
app.get('/fail', () => Promise.reject(new Error('the handler failed; the limits went on')));
app.get('/api/things', perKey, (req, res) => {
  const [decision] = admissionsOf(req).flatMap((admission) => admission.decisions);
  res.json({ things: ['a dam', 'a gate'], remaining: decision?.remaining }); // null while Redis is away
});
app.get('/api/export', perKey, (_req, res) => res.type('csv').send('thing\na dam\na gate\n'));
app.post('/login', spillway(failed, options), express.json(), (req, res) => {
  const welcome = req.body?.password === 'open sesame';
  res.status(welcome ? 200 : 401).json({ welcome });
});

const server = app.listen(Number(PORT), () => {
  const { port } = server.address();
  const where = redis ? 'in Redis' : 'in memory';
  console.log(`Listening on port ${port}: ${LIMIT} requests per ${WINDOW} and API key, ${where}. Try:
  curl -i -H 'x-api-key: ada' http://localhost:${port}/api/things
  curl -i -H 'content-type: application/json' -d '{"password":"guess"}' http://localhost:${port}/login`);
});

process.once('SIGTERM', () => server.close(() => redis?.disconnect()));

/** An outage is one line a second, not one for each request. */
function complain(text) {
  if (Date.now() - (complain.lastMs ?? 0) < 1000) return;
  complain.lastMs = Date.now();
  console.error(text);
}
