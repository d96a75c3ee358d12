/** The service in a Cloudflare Worker: the same app as on Node, with what a Worker has instead. */

import { env } from 'cloudflare:workers';
import { durableObjectStore } from '@spillway/cloudflare';
import { getConnInfo } from 'hono/cloudflare-workers';
import { createApp } from '../demo-hono-node/app.js';

export { RateLimitObject } from '@spillway/cloudflare';

const { app } = createApp({
  env,
  store: durableObjectStore(env.LIMITS),
  storeTimeout: '1s', // an object that nobody has asked for a while must be started first
  clientIp: (c) => getConnInfo(c).remote.address,
  // Or else the development server would hold the lines back to compress them.
  streamFields: { 'Content-Encoding': 'identity' },
});

export default app;
