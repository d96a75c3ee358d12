/** Programs of users, and how large their bundles are: built packages, minified and compressed, without frameworks. */

import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

/** What a server has anyway, or brings itself. */
const EXTERNAL = [
  'express',
  'koa',
  'fastify',
  'hono',
  'hono/*',
  '@nestjs/*',
  'rxjs',
  'reflect-metadata',
  'node:*',
];

const LIMIT = `rateLimit({ limit: 100, window: '1m' })`;
const middleware = (name: string): string =>
  `import { rateLimit, spillway } from '@spillway/${name}'; export default spillway(${LIMIT});`;

/** By the names that they have in docs/benchmarks.md. */
export const PROGRAMS: Readonly<Record<string, string>> = {
  '`createLimiter`': `import { createLimiter } from '@spillway/core';
    export default createLimiter({ limit: 100, window: '1m' });`,
  '`createGuard` and `rateLimit`': `import { createGuard, rateLimit } from '@spillway/core';
    export default createGuard(${LIMIT});`,
  '`nodeGuard` and `rateLimit`': `import { rateLimit } from '@spillway/core';
    import { nodeGuard } from '@spillway/core/node';
    export default nodeGuard(${LIMIT});`,
  'a Worker: `fetchGuard` and `rateLimit`': `import { rateLimit } from '@spillway/core';
    import { fetchGuard } from '@spillway/core/fetch';
    const clientIp = (request) => request.headers.get('cf-connecting-ip');
    export default { fetch: fetchGuard(${LIMIT}, { clientIp }).wrap(() => new Response('hello')) };`,
  '@spillway/express': middleware('express'),
  '@spillway/koa': middleware('koa'),
  '@spillway/fastify': `import { rateLimit, spillway } from '@spillway/fastify';
    export default (app) => app.register(spillway, { limiters: ${LIMIT} });`,
  '@spillway/hono': middleware('hono'),
  '@spillway/nestjs': `import { rateLimit, SpillwayModule } from '@spillway/nestjs';
    export default SpillwayModule.forRoot({ limiters: ${LIMIT} });`,
  '`redisStore` alone': `export { redisStore } from '@spillway/redis';`,
  'a Worker: @spillway/hono, Redis over HTTP': `import { rateLimit, spillway } from '@spillway/hono';
    import { fromUpstash, redisStore } from '@spillway/redis';
    export default (redis) => spillway(${LIMIT}, { store: redisStore(fromUpstash(redis)) });`,
  'a Worker: @spillway/hono, Durable Objects': `import { rateLimit, spillway } from '@spillway/hono';
    import { durableObjectStore } from '@spillway/cloudflare';
    export { RateLimitObject } from '@spillway/cloudflare';
    export default (env) => spillway(${LIMIT}, { store: durableObjectStore(env.LIMITS) });`,
};

/** Bytes of the bundle of a program, minified, and compressed by gzip as well as it can. */
export async function bundleSize(program: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: import.meta.dirname },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    external: EXTERNAL,
    write: false,
  });
  const [bundle] = outputFiles;
  if (!bundle) throw new Error('nothing was bundled');
  return gzipSync(bundle.contents, { level: 9 }).length;
}
