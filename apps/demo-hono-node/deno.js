/** The service on Deno. */

import { cannotListen, welcome } from 'demo-parts';
import { getConnInfo } from 'hono/deno';
import { createApp } from './app.js';
import { openStore } from './store.js';

const env = Deno.env.toObject();
const { store, disconnect } = openStore(env.REDIS_URL);
const { app, close } = createApp({
  env,
  store,
  clientIp: (c) => getConnInfo(c).remote.address,
});

const server = listen();

Deno.addSignalListener('SIGTERM', async () => {
  await server.shutdown();
  await close();
  disconnect();
  Deno.exit();
});

function listen() {
  const onListen = ({ port }) => welcome(port, `Hono on Deno ${Deno.version.deno}`);
  try {
    return Deno.serve({ port: Number(env.PORT ?? 3000), onListen }, app.fetch);
  } catch (error) {
    return cannotListen(error);
  }
}
