/** A Worker whose permits are in Redis over HTTP, with leases that are longer than any test waits. */

import { concurrencyLimit } from '@spillway/core';
import { spillway } from '@spillway/hono';
import { fromUpstash, redisStore } from '@spillway/redis';
import { Redis } from '@upstash/redis/cloudflare';
import { Hono } from 'hono';

function make({ url, token }) {
  const client = new Redis({ url, token, enableTelemetry: false, retry: { retries: 0 } });
  const app = new Hono();
  const one = concurrencyLimit({ name: 'one', limit: 1, lease: '12s', key: 'all' });
  app.get(
    '/',
    spillway(one, { store: redisStore(fromUpstash(client)), storeTimeout: '250ms', logger: false }),
    async (c) => {
      await new Promise((resolve) => setTimeout(resolve, Number(c.req.query('ms'))));
      return c.text('ok');
    },
  );
  return app;
}

let app;

export default {
  fetch(request, env, ctx) {
    app ??= make(env);
    return app.fetch(request, env, ctx);
  },
};
