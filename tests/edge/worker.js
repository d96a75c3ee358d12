/** A Worker whose limits are created when its module is loaded, as in apps. */

import { concurrencyLimit, rateLimit, spillway } from '@spillway/hono';
import { Hono } from 'hono';
import { getConnInfo } from 'hono/cloudflare-workers';

const clientIp = (c) => getConnInfo(c).remote.address;
const faults = [];
const onFault = ({ error }) => faults.push(String(error));

const outcomes = [];
const noted = rateLimit({
  name: 'noted',
  limit: 1000,
  window: '1h',
  key: 'all',
  refundIf: (_, outcome) => outcomes.push(outcome) < 0,
});
const one = concurrencyLimit({ name: 'one', limit: 1, lease: '1s', key: 'all' });
const front = spillway(rateLimit({ name: 'address', limit: 3, window: '1h' }), {
  clientIp,
  onFault,
});
const permits = spillway([noted, one], { onFault });

const app = new Hono();
app.get('/told', (c) => c.json({ faults, outcomes }));
app.get('/limited', front, (c) => c.json(c.get('spillway')));
app.get('/unaddressed', spillway(rateLimit({ limit: 1, window: '1h' }), { onFault }), (c) =>
  c.text('never'),
);
app.get('/closed', async (c) => {
  await permits.close();
  return c.text('closed');
});
app.use('/permit/*', permits);
app.get('/permit/short', (c) => c.text('short'));
app.get('/permit/fails', () => {
  throw new Error('mine');
});
app.get('/permit/stream', (c) => {
  const { readable, writable } = new TransformStream();
  const writer = writable.getWriter();
  const ticks = async () => {
    const count = Number(c.req.query('ticks'));
    for (let tick = 0; tick < count; tick += 1) {
      await writer.write(new TextEncoder().encode(`${tick}\n`));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await writer.close();
  };
  c.executionCtx.waitUntil(ticks().catch(() => undefined));
  return c.body(readable);
});
app.onError((error, c) => c.text(error.code ?? error.message, 500));

export default app;
