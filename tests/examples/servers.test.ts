/** The examples that need a Redis, as they are printed, on real servers: one, behind Sentinel, a Cluster, over HTTP. */

import { createLimiter, type Store } from '@spillway/core';
import { type Cluster, Redis } from 'ioredis';
import { Miniflare } from 'miniflare';
import { redisProgram, redisUrl, startCluster } from 'spillway-testkit/redis';
import { UpstashServer } from 'spillway-testkit/upstash';
import { bundleForWorker } from 'spillway-testkit/worker-bundle';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startSentinels } from '../fleet/redis-groups.js';
import { exampleOf, repeat, runExample, serveExample, serviceAt, workshop } from './pages.js';

const write = workshop(import.meta.dirname);
let names = 0;

/** Two requests pass and the third is rejected, so the store works. Without a store, `deny` would reject the first. */
async function expectCounting(store: Store): Promise<void> {
  const name = `example-${process.pid}-${names++}`;
  const settings = { store, onStoreError: 'deny', storeTimeout: '5s' } as const;
  const limiter = createLimiter({ name, limit: 2, window: '1h' }, settings);
  for (const expected of [true, true, false]) {
    expect(await limiter.consume('ada')).toMatchObject({ allowed: expected });
  }
  expect((await limiter.peek('ada')).reason).toBe('rate');
}

interface Printed {
  readonly store: Store;
  readonly redis: Redis | Cluster;
}

async function printed(heading: string, replace: Record<string, string>): Promise<Printed> {
  const code = exampleOf('docs/deployment.md', heading);
  const example = await runExample(code, { replace, names: ['redis'] });
  onTestFinished(() => example.redis.disconnect());
  return example;
}

describe.skipIf(redisProgram === null)('docs/deployment.md', () => {
  it('counts on one server', async () => {
    vi.stubEnv('REDIS_URL', redisUrl ?? '');
    onTestFinished(() => void vi.unstubAllEnvs());
    await expectCounting((await printed('One server, with TLS', {})).store);
  });

  it('counts behind Sentinel, also on the server that takes over', async () => {
    const group = await startSentinels();
    const replace = Object.fromEntries(
      group.entries.map(({ host, port }, i) => [
        `{ host: '10.0.0.${i + 1}', port: 26379 }`,
        `{ host: '${host}', port: ${port} }`,
      ]),
    );
    const { store } = await printed('Sentinel', replace);
    await expectCounting(store);
    await group.killMaster();
    await group.replaced();
    await expect.poll(() => expectCounting(store).then(() => true), { timeout: 20_000 }).toBe(true);
  });

  it('counts on a Cluster', async () => {
    const { servers, nodes } = await startCluster();
    onTestFinished(() => {
      for (const node of nodes) node.disconnect();
      for (const server of servers) void server.kill();
    });
    const replace = Object.fromEntries(
      servers
        .slice(0, 2)
        .map(({ port }, i) => [
          `{ host: '10.0.0.${i + 1}', port: 6379 }`,
          `{ host: '127.0.0.1', port: ${port} }`,
        ]),
    );
    await expectCounting((await printed('Cluster', replace)).store);
  });
});

describe.skipIf(redisUrl === null)('with a Redis', () => {
  /** Two apps that share what they count. */
  it('docs/start/express.md counts for all processes together', async () => {
    const code = exampleOf('docs/start/express.md', 'Count for all processes together');
    const name = `'all-${process.pid}'`;
    const options = {
      names: ['redis'],
      replace: { 'redis://127.0.0.1:6379': redisUrl ?? '', "'all'": name },
    };
    const services = [await serveExample(code, options), await serveExample(code, options)];
    const [first, second] = services as [(typeof services)[0], (typeof services)[0]];
    expect(await first.statuses(50)).toEqual(repeat(50, 200));
    const { headers } = await second.ask();
    expect(Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1])).toBeLessThan(60);
  });

  it('docs/recipes/serverless.md counts over HTTP, on Lambda and on Workers', async () => {
    const redis = new Redis(redisUrl ?? '');
    onTestFinished(() => redis.disconnect());
    const upstash = await UpstashServer.start(redis);
    onTestFinished(() => upstash.stop());
    const replace = {
      // No unit refills while the test runs.
      "name: 'all', limit: 100, window: '1m'": `name: 'all-http-${process.pid}', limit: 5, window: '1h'`,
      // Waits for a store that is slow on a busy machine: a request that failed open would be counted nowhere.
      "storeTimeout: '300ms'": "storeTimeout: '5s'",
    };
    vi.stubEnv('UPSTASH_REDIS_REST_URL', upstash.url);
    vi.stubEnv('UPSTASH_REDIS_REST_TOKEN', upstash.token);
    onTestFinished(() => void vi.unstubAllEnvs());

    const page = exampleOf('docs/recipes/serverless.md', 'AWS Lambda');
    const { handler } = await runExample(page, { replace });
    const event = {
      version: '2.0',
      routeKey: '$default',
      rawPath: '/',
      rawQueryString: '',
      headers: { host: 'a.example', 'x-forwarded-for': '6.6.6.6, 203.0.113.7' },
      requestContext: {
        http: { method: 'GET', path: '/', sourceIp: '203.0.113.7' },
        stage: '$default',
      },
      isBase64Encoded: false,
    };
    const answer = await handler(event, {});
    expect(answer).toMatchObject({ statusCode: 200, body: 'Hello\n' });
    expect(answer.headers.ratelimit).toMatch(/r=4;/);
    const http = { method: 'GET', path: '/', sourceIp: '203.0.113.8' };
    const other = await handler({ ...event, requestContext: { http, stage: '$default' } }, {});
    expect(other.headers.ratelimit).toMatch(/r=4;/); // the event contains the address

    const worker = exampleOf('docs/recipes/serverless.md', 'Cloudflare Workers');
    const own = Object.entries(replace).reduce((code, [theirs, ours]) => {
      expect(code).toContain(theirs);
      return code.replace(theirs, ours);
    }, worker);
    const { text } = await bundleForWorker(write('worker.ts', own));
    const miniflare = new Miniflare({
      script: text,
      modules: true,
      compatibilityDate: '2026-04-01',
      port: 0,
      bindings: { REDIS_URL: upstash.url, REDIS_TOKEN: upstash.token },
    });
    onTestFinished(() => miniflare.dispose());
    const { ask } = serviceAt(Number((await miniflare.ready).port));
    const headers = { 'CF-Connecting-IP': '203.0.113.7' };
    const response = await ask('/', { headers });
    expect(await response.text()).toBe('Hello\n');
    expect(response.headers.get('ratelimit')).toMatch(/r=3;/); // the request on Lambda counts
  });
});
