/** The service on Node. */

import { serve } from '@hono/node-server';
import { getConnInfo } from '@hono/node-server/conninfo';
import { eventLoopSignal } from '@spillway/core/node';
import { createApp } from './app.js';
import { openStore } from './store.js';

const { env } = process;
const { store, disconnect } = openStore(env.REDIS_URL);
const { app, close } = createApp({
  env,
  store,
  clientIp: (c) => getConnInfo(c).remote.address,
  signal: env.FOUR === '1' ? eventLoopSignal() : undefined,
});

const server = serve({ fetch: app.fetch, port: Number(env.PORT ?? 3000) }, ({ port }) => {
  console.log(`Listening on port ${port}: Hono on Node ${process.version}`);
});

process.once('SIGTERM', () => {
  server.close(async () => {
    await close();
    disconnect();
    process.exit();
  });
});
