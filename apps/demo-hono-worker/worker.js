/** The service in a Cloudflare Worker: the same app as on Node, with the store and the client address of a Worker. */

import { env } from 'cloudflare:workers';
import { durableObjectStore } from '@spillway/cloudflare';
import { getConnInfo } from 'hono/cloudflare-workers';
import { createApp } from '../demo-hono-node/app.js';

export { RateLimitObject } from '@spillway/cloudflare';

const { app } = createApp({
  env,
  store: durableObjectStore(env.LIMITS),
  storeTimeout: '1s', // the object of an idle key must first be started
  clientIp: (c) => getConnInfo(c).remote.address,
  // Otherwise the development server would buffer the lines to compress them.
  streamFields: { 'Content-Encoding': 'identity' },
});

export default app;
