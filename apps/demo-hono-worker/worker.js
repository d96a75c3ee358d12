/** The service in a Cloudflare Worker: the same app as on Node, with what a Worker has instead. */

import { memoryStore } from '@spillway/hono';
import { fromUpstash, redisStore } from '@spillway/redis';
import { Redis } from '@upstash/redis/cloudflare';
import { getConnInfo } from 'hono/cloudflare-workers';
import { createApp } from '../demo-hono-node/app.js';

// Settings come with the first request. An isolate may have many requests at once, and share its counts among them.
let service;

export default {
  fetch(request, env, ctx) {
    service ??= createApp({
      env,
      store: openStore(env),
      clientIp: (c) => getConnInfo(c).remote.address,
      // Or else the development server would hold the lines back to compress them.
      streamFields: { 'Content-Encoding': 'identity' },
    });
    return service.app.fetch(request, env, ctx);
  },
};

/** Redis over HTTP: a socket would belong to the request that opened it. Without it, each isolate counts for itself. */
function openStore({ REDIS_HTTP_URL: url, REDIS_HTTP_TOKEN: token }) {
  if (!url) return memoryStore();
  return redisStore(fromUpstash(new Redis({ url, token, retry: { retries: 0 } })));
}
