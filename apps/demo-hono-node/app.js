/** The service, for every runtime of Hono. Differences between runtimes are passed in. */

import {
  concurrencyLimit,
  decisionTable,
  fleetShedder,
  idempotency,
  rateLimit,
  spillway,
  workerShedder,
} from '@spillway/hono';
import { complain } from 'demo-parts';
import { Hono } from 'hono';
import { cors } from 'hono/cors';
import { stream } from 'hono/streaming';

/**
 * `clientIp` returns the client address of a request. `signal` is the load of this process, if the runtime can measure
 * it. `storeTimeout` is for a store that is too far away for the default.
 */
export function createApp({ env, store, storeTimeout, clientIp, signal, streamFields = {} }) {
  const { LIMIT = '20', WINDOW = '1m', FOUR, TRUST_PROXY = '0' } = env;
  const options = {
    store,
    storeTimeout,
    clientIp,
    trustProxy: Number(TRUST_PROXY),
    skip: ({ path }) => path === '/health',
    onFault: ({ limiter, source, error }) => complain(`${limiter}: ${source}: ${error.message}`),
    observers: [decisionTable()], // while you develop: a line for each rejection
  };
  // A demo has no accounts: a header and a path replace the account and its plan. Your service uses its authentication.
  const apiKey = (request) => request.header('x-api-key'); // without one, the client's address is the key
  const priority = ({ path }) => (path.startsWith('/charges') ? 'critical' : undefined);

  const once = idempotency({ scope: (request) => apiKey(request) ?? request.clientIp });
  const shedders = [
    ...(signal ? [workerShedder({ name: 'workers', signal, priority })] : []),
    fleetShedder({ name: 'fleet', capacity: 20, reserve: 0.2, priority }),
    concurrencyLimit({ name: 'in-flight', limit: 5, key: apiKey }),
  ];
  const front = spillway(
    [
      once,
      ...(FOUR === '1' ? shedders : []),
      rateLimit({ name: 'per-address', limit: 60, window: WINDOW }),
      rateLimit({ name: 'trial', limit: 1, window: WINDOW, mode: 'shadow' }), // clients do not notice it
    ],
    options,
  );
  const perKey = spillway(
    rateLimit({ name: 'per-key', limit: Number(LIMIT), window: WINDOW, key: apiKey }),
    options,
  );

  const app = new Hono();
  const exposeHeaders = ['RateLimit', 'RateLimit-Policy', 'Retry-After', 'Idempotency-Replayed'];
  app.use(cors({ origin: '*', exposeHeaders }));
  app.use(front);
  app.get('/', (c) => c.text('Hello from behind a spillway.\n'));
  app.get('/health', (c) => c.text('ok\n'));
  app.get('/things', perKey, (c) => {
    const { remaining } = c.get('spillway').find(({ limiter }) => limiter === 'per-key');
    return c.json({ things: ['a dam', 'a gate'], remaining });
  });
  app.post('/charges', async (c) => {
    const { amount, note } = JSON.parse((await c.req.text()) || '{}');
    const ms = Math.min(Number(c.req.query('ms') ?? 0), 5000);
    await new Promise((resolve) => setTimeout(resolve, ms)); // a slow bank
    return c.json({ charged: true, id: crypto.randomUUID(), amount, note }, 201);
  });
  app.get('/report', (c) => {
    burn(Math.min(Number(c.req.query('ms') ?? 50), 1000));
    return c.text('done\n');
  });
  app.all('/stream', (c) => {
    const chunks = Math.min(Number(c.req.query('chunks') ?? 5), 600);
    const fields = { 'Content-Type': 'text/plain; charset=UTF-8', ...streamFields };
    for (const [name, value] of Object.entries(fields)) c.header(name, value);
    return stream(c, async (out) => {
      for (let chunk = 1; chunk <= chunks && !out.aborted; chunk += 1) {
        await out.write(`${chunk}\n`);
        await out.sleep(100);
      }
    });
  });
  app.all('/fails', () => Promise.reject(new Error('the handler failed; the limits went on')));
  return { app, close: () => Promise.all([front.close(), perKey.close()]) };
}

/** Also counts rounds, because the clock of a Worker stands still while it computes. */
function burn(ms) {
  const end = performance.now() + ms;
  for (let round = 0; performance.now() < end && round < ms * 20_000; round += 1);
}
