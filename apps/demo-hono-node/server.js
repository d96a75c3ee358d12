/** The service on Node. */

import { serve } from '@hono/node-server';
import { getConnInfo } from '@hono/node-server/conninfo';
import { eventLoopSignal } from '@spillway/core/node';
import { cannotListen, welcome } from 'demo-parts';
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

const where = env.REDIS_URL ? 'Redis' : 'memory';
const server = serve({ fetch: app.fetch, port: Number(env.PORT ?? 3000) }, ({ port }) => {
  welcome(port, `Hono on Node ${process.version}, counting in ${where}`);
});
server.on('error', cannotListen);

process.once('SIGTERM', () => {
  server.close(async () => {
    await close();
    disconnect();
    process.exit();
  });
});
