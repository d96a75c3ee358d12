/** A Worker with limits in Redis over HTTP: with Hono, and as a fetch handler with and without `waitUntil`. */

import { rateLimit } from '@spillway/core';
import { fetchGuard } from '@spillway/core/fetch';
import { spillway } from '@spillway/hono';
import { fromUpstash, redisStore } from '@spillway/redis';
import { Redis } from '@upstash/redis/cloudflare';
import { Hono } from 'hono';

const limitBy = (name, keyOf) =>
  rateLimit({ name, limit: 2, window: '1h', key: (request) => keyOf(request.raw) });

/** Each variant has a separate store, so each must notice the outage itself. */
function storeOf({ url, token }) {
  const client = new Redis({ url, token, enableTelemetry: false, retry: { retries: 0 } });
  return redisStore(fromUpstash(client));
}

function make(env) {
  const app = new Hono();
  for (const onStoreError of ['allow', 'deny']) {
    const settings = () => ({
      store: storeOf(env),
      storeTimeout: '250ms',
      onStoreError,
      logger: false,
    });
    app.get(
      `/hono/${onStoreError}`,
      spillway(
        limitBy(`hono-${onStoreError}`, (c) => c.req.header('x-key')),
        settings(),
      ),
      (c) => c.text('ok'),
    );
    for (const [way, options] of [
      ['bare', {}],
      ['kept', { waitUntil: (promise, _request, ctx) => ctx.waitUntil(promise) }],
    ]) {
      const name = `${way}-${onStoreError}`;
      const limits = fetchGuard(
        limitBy(name, (request) => request.headers.get('x-key')),
        { ...settings(), ...options },
      );
      const handler = limits.wrap(async () => new Response('ok'));
      app.get(`/${way}/${onStoreError}`, (c) => handler(c.req.raw, c.executionCtx));
    }
  }
  return app;
}

let app;
let handed = 0;

export default {
  fetch(request, env, ctx) {
    if (request.url.endsWith('/handed')) return new Response(`${handed}`);
    const waitUntil = (promise) => {
      handed += 1;
      ctx.waitUntil(promise);
    };
    app ??= make(env);
    return app.fetch(request, env, { waitUntil, passThroughOnException() {} });
  },
};
