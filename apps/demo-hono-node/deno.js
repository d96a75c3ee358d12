/** The service on Deno. */

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

const server = Deno.serve(
  {
    port: Number(env.PORT ?? 3000),
    onListen: ({ port }) =>
      console.log(`Listening on port ${port}: Hono on Deno ${Deno.version.deno}`),
  },
  app.fetch,
);

Deno.addSignalListener('SIGTERM', async () => {
  await server.shutdown();
  await close();
  disconnect();
  Deno.exit();
});
