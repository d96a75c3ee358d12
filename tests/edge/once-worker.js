/** A Worker with idempotency keys, by Hono and by the guard for fetch handlers. */

import { idempotency } from '@spillway/core';
import { fetchGuard } from '@spillway/core/fetch';
import { claimOf, idempotency as once, spillway } from '@spillway/hono';
import { Hono } from 'hono';

const faults = [];
const onFault = ({ source, error }) => faults.push(`${source}: ${error}`);
let runs = 0;

const app = new Hono();
const scope = ({ raw }) => raw.req.header('x-account');
app.get('/told', (c) => c.json({ faults, runs }));
app.use('/waits/*', spillway(once({ name: 'waits', scope, wait: '5s' }), { onFault }));
app.use('/charges', spillway(once({ scope, keepFirst: true }), { onFault }));

async function charge(c) {
  const { amount, ms = 0 } = await c.req.json();
  await new Promise((resolve) => setTimeout(resolve, ms));
  runs += 1;
  const token = claimOf(c)?.token;
  return c.json({ amount, token }, 201, { location: `/charges/${runs}` });
}
app.post('/charges', charge);
app.post('/waits/charges', charge);

const guard = fetchGuard(
  idempotency({ name: 'fetch', scope: ({ raw }) => raw.headers.get('x-account') ?? undefined }),
  { onFault, waitUntil: (promise, _request, _env, context) => context.waitUntil(promise) },
);
const byFetch = guard.wrap(async (request) => {
  runs += 1;
  return new Response(`got ${await request.text()}`, { status: 201 });
});

export default {
  fetch: (request, env, context) =>
    new URL(request.url).pathname === '/fetch'
      ? byFetch(request, env, context)
      : app.fetch(request, env, context),
};
