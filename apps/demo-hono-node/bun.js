/** The service on Bun. */

import { cannotListen, welcome } from 'demo-parts';
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

const server = listen();
welcome(server.port, `Hono on Bun ${Bun.version}`);

process.once('SIGTERM', async () => {
  await server.stop();
  await close();
  disconnect();
  process.exit();
});

function listen() {
  try {
    return Bun.serve({ port: Number(env.PORT ?? 3000), fetch: app.fetch });
  } catch (error) {
    return cannotListen(error);
  }
}
