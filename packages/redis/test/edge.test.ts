import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import { Redis } from 'ioredis';
import { type RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { UpstashServer } from 'spillway-testkit/upstash';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** What every host of the web platform has. */
const WEB = {
  AbortSignal,
  atob,
  Blob,
  Event,
  EventTarget,
  clearTimeout,
  fetch,
  Headers,
  performance,
  Response,
  setTimeout,
  TextDecoder,
  TextEncoder,
  Uint8Array,
  URL,
};

const WORKER = `
  import { createLimiter } from '@spillway/core';
  import { fromUpstash, redisStore } from '@spillway/redis';
  import { Redis } from '@upstash/redis/cloudflare';

  const { url, token } = globalThis;
  const store = redisStore(fromUpstash(new Redis({ url, token, enableTelemetry: false })));
  const limiter = createLimiter({ name: 'edge', limit: 3, window: '1m' }, { store, storeTimeout: '1s' });
  globalThis.ask = async () => (await limiter.consume('ada')).allowed;
`;

/** The worker as a bundler for browsers makes it, and all that it imports from outside. */
async function bundle(): Promise<{ code: string; imports: string[] }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: WORKER, resolveDir: import.meta.dirname, loader: 'js' },
    bundle: true,
    write: false,
    metafile: true,
    platform: 'browser',
    format: 'iife',
    conditions: ['@spillway/source'],
    loader: { '.lua': 'text' },
    external: ['node:*'],
    logLevel: 'silent',
  });
  const inputs = Object.values(metafile.inputs).flatMap((input) => input.imports);
  return {
    code: outputFiles[0]?.text ?? '',
    imports: inputs.filter((each) => each.external).map((each) => each.path),
  };
}

describe.skipIf(redisProgram === null)('the Redis store at the edge', () => {
  let server: RedisServer;
  let redis: Redis;
  let http: UpstashServer;

  beforeAll(async () => {
    server = await startServer();
    redis = new Redis(server.port);
    http = await UpstashServer.start(redis);
  });
  afterAll(async () => {
    await http.stop();
    redis.disconnect();
    await server.kill();
  });

  it('imports nothing from Node', async () => {
    expect((await bundle()).imports).toEqual([]);
  });

  it('decides where there is nothing but the web platform, and does nothing on import', async () => {
    const { code } = await bundle();
    let awake = false;
    const when =
      (name: string, use: (...args: never[]) => unknown) =>
      (...args: never[]) => {
        if (!awake) throw new Error(`${name} on import`);
        return use(...args);
      };
    const host = createContext({
      ...WEB,
      crypto: {
        subtle: crypto.subtle,
        getRandomValues: when('getRandomValues', (bytes) => crypto.getRandomValues(bytes)),
      },
      fetch: when('fetch', fetch),
      setTimeout: when('setTimeout', setTimeout),
      url: http.url,
      token: http.token,
    });
    runInContext('globalThis.Math.random = () => { throw new Error("random on import") }', host);
    runInContext(code, host);
    awake = true;
    const allowed: boolean[] = [];
    for (let i = 0; i < 4; i += 1) allowed.push(await runInContext('ask()', host));
    expect(allowed).toEqual([true, true, true, false]);
  });
});
