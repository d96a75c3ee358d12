/** The async context of a request, and all that it holds, is freed with the request: no timer, batch or map keeps it. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  concurrencyLimit,
  createLimiter,
  fleetShedder,
  idempotency,
  memoryControl,
  memoryStore,
  type Store,
} from '@spillway/core';
import { rateLimit, spillway } from '@spillway/express';
import { createShaper, pacedFetch } from '@spillway/outgoing';
import { redisControl, redisStore } from '@spillway/redis';
import Express from 'express';
import { Redis } from 'ioredis';
import { delay } from 'spillway-testkit';
import { serveListener } from 'spillway-testkit/http';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished } from 'vitest';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const contexts = new AsyncLocalStorage<object>();
const REQUESTS = 100;

/** How many contexts of requests that have ended are still in memory. */
async function kept(alive: readonly WeakRef<object>[]): Promise<number> {
  let count = alive.length;
  // Node's own timer for the header Date keeps the request that set it, for up to a second.
  for (let i = 0; i < 150 && count > 0; i += 1) {
    await delay(10);
    await turn();
    collect();
    count = alive.filter((ref) => ref.deref()).length;
  }
  return count;
}

/** Runs each in a separate context, and waits for all. */
async function inContexts(run: (at: number) => Promise<unknown>): Promise<WeakRef<object>[]> {
  const alive: WeakRef<object>[] = [];
  for (let at = 0; at < REQUESTS; at += 1) {
    const context = { big: new Uint8Array(100_000) };
    alive.push(new WeakRef(context));
    await contexts.run(context, () => run(at));
  }
  return alive;
}

interface World {
  readonly store: Store;
  readonly client?: Redis;
}

async function redis(): Promise<World> {
  const server = await RedisServer.up();
  const client = new Redis(server.url);
  onTestFinished(() => client.disconnect());
  await client.ping();
  return { client, store: redisStore(client) };
}

/** How many contexts the store's client retains. */
async function keptBy({ client }: World): Promise<number> {
  return client ? kept(await inContexts(() => client.get('any'))) : 0;
}

const WORLDS: Readonly<Record<string, () => Promise<World>>> = {
  memory: async () => ({ store: memoryStore() }),
  ...(redisProgram === null ? {} : { Redis: redis }),
};

describe.each(Object.entries(WORLDS))('with a store in %s', (_, make) => {
  it('a limiter with a window of an hour', async () => {
    const world = await make();
    const { store } = world;
    const limiter = createLimiter({ name: 'api', limit: 5, window: '1h' }, { store });
    const alive = await inContexts(async (at) => {
      for (let i = 0; i < 7; i += 1) await limiter.consume(`key${at % 10}`);
      await limiter.peek('key1');
    });
    expect(await kept(alive)).toBeLessThanOrEqual(await keptBy(world));
    await limiter.reset('key1'); // it still works, and lives
  });

  it('a shaper, and calls that it paces', async () => {
    const world = await make();
    const { store } = world;
    const shaper = createShaper(
      { name: 'calls', limit: 1_000, window: '1s', maxWait: '1h' },
      { store, localShare: 1 },
    );
    const send = pacedFetch(shaper, { fetch: async () => new Response('hello') });
    await send('https://partner.example/'); // Node's own classes retain the context of their first use
    const alive = await inContexts(async (at) => {
      await shaper.schedule(`key${at % 3}`, () => undefined);
      await shaper.reserve('other');
      await send('https://partner.example/');
    });
    expect(await kept(alive)).toBeLessThanOrEqual(await keptBy(world));
    await shaper.close();
  });

  it('all limits in front of a handler', async () => {
    const world = await make();
    const { store, client } = world;
    const control = client ? redisControl(client) : memoryControl();
    const app = Express();
    const alive: WeakRef<object>[] = [];
    app.use((_req, _res, next) => {
      const context = { big: new Uint8Array(100_000) };
      alive.push(new WeakRef(context));
      contexts.run(context, next);
    });
    app.use(
      spillway(
        [
          idempotency({ name: 'once', scope: () => 'ada' }),
          rateLimit({ name: 'api', limit: 1_000, window: '1h' }),
          concurrencyLimit({ name: 'now', limit: 100, lease: '1m' }),
          fleetShedder({ name: 'fleet', capacity: 1_000 }),
        ] as never,
        { store, control, logger: false },
      ),
    );
    app.all('/', (_req, res) => void res.send('hello'));
    const { get } = await serveListener(app);
    for (let at = 0; at < REQUESTS; at += 1) {
      const headers = { 'Idempotency-Key': `"key-${at}"` };
      expect((await get('/', { method: 'POST', headers })).status).toBe(200);
    }
    expect(alive).toHaveLength(REQUESTS);
    expect(await kept(alive)).toBeLessThanOrEqual(await keptBy(world));
    expect((await get()).status).toBe(200);
  });
});
