/** The service on Bun. */

import { getConnInfo } from 'hono/bun';
import { createApp } from './app.js';
import { openStore } from './store.js';

const { env } = process;
const { store, disconnect } = openStore(env.REDIS_URL);
const { app, close } = createApp({
  env,
  store,
  clientIp: (c) => getConnInfo(c).remote.address,
});

const server = Bun.serve({ port: Number(env.PORT ?? 3000), fetch: app.fetch });
console.log(`Listening on port ${server.port}: Hono on Bun ${Bun.version}`);

process.once('SIGTERM', async () => {
  await server.stop();
  await close();
  disconnect();
  process.exit();
});
