/** A Worker with limits that are stored in Durable Objects, as an app writes it. */

import { env } from 'cloudflare:workers';
import { approximateLimit, durableObjectStore } from '@spillway/cloudflare';
import { concurrencyLimit, idempotency, meter, rateLimit, spillway } from '@spillway/hono';
import { Hono } from 'hono';

export { RateLimitObject } from '@spillway/cloudflare';

const store = durableObjectStore(env.RATELIMITOBJECT);
const key = (request) => request.header('x-key');
const settings = { store, storeTimeout: '10s', logger: false };
const faults = [];
const onFault = ({ error }) => faults.push(String(error));

const two = rateLimit({ name: 'two', limit: 2, window: '1h', key });
const hundred = rateLimit({ name: 'hundred', limit: 100, window: '1h', key });
const app = new Hono();
app.post('/RATELIMITOBJECT/:name', (c) => {
  const { RATELIMITOBJECT } = env; // what a test reads directly
  return RATELIMITOBJECT.get(RATELIMITOBJECT.idFromName(c.req.param('name'))).fetch(c.req.raw);
});
app.get('/faults', (c) => c.json(faults));
app.get('/two', spillway([two, hundred], { ...settings, onFault }), (c) =>
  c.json(c.get('spillway')),
);
app.get('/hundred', spillway(hundred, { ...settings, onFault }), (c) => c.text('passed'));

const flood = approximateLimit({ name: 'flood', binding: env.FLOOD, limit: 2, period: 60, key });
app.get('/flood', spillway([flood, hundred], { ...settings, onFault }), (c) => c.text('passed'));

let charges = 0;
const once = idempotency({ scope: key });
app.post('/charges', spillway([once, two], { ...settings, onFault }), (c) => {
  charges += 1;
  return c.json({ charges }, 201);
});

let slowRuns = 0;
const slow = idempotency({ name: 'slow', scope: key, lease: '1s' });
app.post('/slow', spillway(slow, { ...settings, onFault }), async (c) => {
  slowRuns += 1;
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  return c.json({ slowRuns }, 201);
});

const rows = meter({ reserve: () => 10 });
const cost = rows.cost((count) => count);
const spend = rateLimit({ name: 'rows', limit: 100, window: '1h', key, cost });
app.get('/rows', spillway(spend, { ...settings, onFault }), (c) => {
  const { readable, writable } = new TransformStream();
  const spent = rows.of(c);
  const writer = writable.getWriter();
  const send = async () => {
    for (let row = 0; row < Number(c.req.query('rows')); row += 1) {
      await writer.write(new TextEncoder().encode(`${row}\n`));
      spent.add(1);
      await new Promise((resolve) => setTimeout(resolve, Number(c.req.query('gap') ?? 0)));
    }
    spent.settle(Number(c.req.query('rows')));
    await writer.close();
  };
  c.executionCtx.waitUntil(send().catch(() => undefined));
  return c.body(readable);
});

const one = concurrencyLimit({ name: 'one', limit: 1, lease: '1s', key });
app.use('/permit/*', spillway(one, { ...settings, onFault }));
app.get('/permit/short', (c) => c.text('short'));
app.get('/permit/stream', (c) => {
  const { readable, writable } = new TransformStream();
  const writer = writable.getWriter();
  const ticks = async () => {
    for (let tick = 0; tick < Number(c.req.query('ticks')); tick += 1) {
      await writer.write(new TextEncoder().encode(`${tick}\n`));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await writer.close();
  };
  c.executionCtx.waitUntil(ticks().catch(() => undefined));
  return c.body(readable);
});

export default app;
