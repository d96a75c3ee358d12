/** Counts survive restarts, and are exact for several Workers at once. */

import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { durableObjectStore, type ObjectNamespace } from '@spillway/cloudflare';
import { createLimiter } from '@spillway/core';
import { type BucketAnswer, makeRule, systemClock } from '@spillway/core/store';
import { Miniflare } from 'miniflare';
import { bundleForWorker } from 'spillway-testkit/worker-bundle';
import { describe, expect, it, onTestFinished } from 'vitest';
import { objectsOf, runWorker } from './workerd.js';

const CLASS = 'RateLimitObject';

describe('what objects keep', () => {
  it('is there again when the platform has restarted: counts and values', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'spillway-objects-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const started = async () => {
      const options = { durableObjectsPersist: folder };
      const miniflare = await runWorker('workers/objects.js', [CLASS], options);
      const store = durableObjectStore(await objectsOf(miniflare, CLASS));
      const settings = { store, storeTimeout: '30s' } as const;
      const limiter = createLimiter({ name: 'login', limit: 5, window: '1d' }, settings);
      return { miniflare, store, limiter };
    };
    const name = { limiter: 'once', key: 'ada', id: 'one' };
    const first = await started();
    await first.limiter.consume('ada', { cost: 2 });
    await first.store.values.set(name, new Uint8Array([1, 2, 255]), 3_600_000_000);
    await first.miniflare.dispose();

    const second = await started();
    onTestFinished(() => second.miniflare.dispose());
    expect((await second.limiter.consume('ada')).remaining).toBe(2);
    expect(await second.store.values.get(name)).toEqual(new Uint8Array([1, 2, 255]));
    expect(await second.store.values.get({ ...name, key: 'bob' })).toBeUndefined();
  });
});

/** The same objects, but calls to them are changed on the way. */
function altered(objects: ObjectNamespace, text: string | RegExp, other: string): ObjectNamespace {
  return {
    ...objects,
    get: (id) => ({
      fetch: (url, init) =>
        objects.get(id).fetch(url, { ...init, body: init.body.replace(text, other) }),
    }),
  };
}

describe('a Worker of a later release than its objects', () => {
  it.each([
    ['"form":1', '"form":9'],
    ['"machine":"bucket"', '"machine":"tub"'],
  ])('is told so, and nothing is charged: %s is %s', async (known, unknown) => {
    const miniflare = await runWorker('workers/objects.js', [CLASS]);
    onTestFinished(() => miniflare.dispose());
    const objects = await objectsOf(miniflare, CLASS);
    const later = altered(objects, known, unknown);
    const rule = makeRule('token-bucket', 5, 60_000_000);
    const take = { op: 'take', limiter: 'api', key: 'ada', rule, cost: 1, binding: true } as const;
    await expect(durableObjectStore(later).apply([take])).rejects.toMatchObject({
      code: 'SPW_STORE_ERROR',
      kind: 'release',
    });
    const settings = { store: durableObjectStore(objects), storeTimeout: '30s' } as const;
    const limiter = createLimiter({ name: 'api', limit: 5, window: '1m' }, settings);
    expect((await limiter.peek('ada')).remaining).toBe(5);
  });
});

describe('a call that reaches its object too late', () => {
  it('charges nothing', async () => {
    const miniflare = await runWorker('workers/objects.js', [CLASS]);
    onTestFinished(() => miniflare.dispose());
    const objects = await objectsOf(miniflare, CLASS);
    const rule = makeRule('token-bucket', 5, 60_000_000);
    const take = { op: 'take', limiter: 'api', key: 'ada', rule, cost: 1, binding: true } as const;
    const sentUs = systemClock.nowUs();
    const late = altered(objects, /"latestUs":\d+/, `"latestUs":${sentUs - 1}`);
    const options = { deadlineUs: sentUs + 60_000_000 };
    await expect(durableObjectStore(late).apply([take], options)).rejects.toMatchObject({
      code: 'SPW_STORE_TIMEOUT',
    });
    const [answer] = await durableObjectStore(objects).apply([take], options);
    expect((answer as BucketAnswer).tatUs - (answer as BucketAnswer).nowUs).toBe(12_000_000);
  });
});

describe('two Workers with one class of objects', () => {
  it('admit together exactly the limit of 1,000 requests at once', async () => {
    const { text } = await bundleForWorker(join(import.meta.dirname, 'workers', 'hono.js'));
    const ratelimits = { FLOOD: { simple: { limit: 2, period: 60 } } } as const;
    const shared = { script: text, modules: true, compatibilityDate: '2026-04-01', ratelimits };
    const binding = { className: CLASS, useSQLite: true };
    const miniflare = new Miniflare({
      port: 0,
      workers: [
        {
          ...shared,
          name: 'a',
          durableObjects: { RATELIMITOBJECT: binding },
          routes: ['a.test/*'],
        },
        {
          ...shared,
          name: 'b',
          durableObjects: { RATELIMITOBJECT: { ...binding, scriptName: 'a' } },
          routes: ['b.test/*'],
        },
      ],
    });
    onTestFinished(() => miniflare.dispose());
    const { port } = await miniflare.ready;
    const agent = new http.Agent({ keepAlive: true, maxSockets: 50 });
    onTestFinished(() => agent.destroy());
    const ask = (host: string) =>
      new Promise<number>((resolve, reject) => {
        const headers = { host, 'x-key': 'crowd' };
        const request = http.get({ port, path: '/hundred', headers, agent }, (response) => {
          response.resume().on('end', () => resolve(response.statusCode as number));
        });
        request.on('error', reject);
      });
    const hosts = Array.from({ length: 1_000 }, (_, i) => (i % 2 === 0 ? 'a.test' : 'b.test'));
    const statuses = await Promise.all(hosts.map(ask));
    expect(statuses.filter((status) => status === 200)).toHaveLength(100);
    expect(statuses.filter((status) => status === 429)).toHaveLength(900);
    const passedAt = (host: string) =>
      statuses.filter((status, i) => status === 200 && hosts[i] === host).length;
    expect(passedAt('a.test')).toBeGreaterThan(0);
    expect(passedAt('b.test')).toBeGreaterThan(0);
  });
});
