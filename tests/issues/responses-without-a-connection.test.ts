/** A response without a connection finishes but never closes. Its permit is still released. */

import type { RequestListener } from 'node:http';
import { concurrencyLimit, fleetShedder, memoryStore, rateLimit, type Store } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import * as forExpress from '@spillway/express';
import * as forFastify from '@spillway/fastify';
import * as forKoa from '@spillway/koa';
import express from 'express';
import Fastify from 'fastify';
import Koa from 'koa';
import { describe, expect, it } from 'vitest';
import { type App, type Visit, WITHOUT_CONNECTION } from './without-connection.js';

type Limiters = ReturnType<typeof concurrencyLimit>;
interface Guarded {
  readonly app: App;
  readonly guard: { readonly inProgress: number };
}

const FRAMEWORKS: Record<string, (limiters: Limiters, store: Store) => Guarded> = {
  Express: (limiters, store) => {
    const guard = forExpress.spillway(limiters as never, { store });
    const app = express().use(guard, (_req, res) => {
      res.json({ ok: true });
    });
    return { app, guard };
  },
  Koa: (limiters, store) => {
    const guard = forKoa.spillway(limiters as never, { store });
    const app = new Koa().use(guard).use((ctx) => {
      ctx.body = { ok: true };
    });
    return { app, guard };
  },
  Fastify: (limiters, store) => {
    const app = Fastify();
    app.register(forFastify.spillway, { limiters: limiters as never, store });
    app.get('/', () => ({ ok: true }));
    const listener: RequestListener = async (req, res) => {
      await app.ready();
      app.routing(req, res);
    };
    const inProgress = { get: () => app.spillway.inProgress };
    return { app: listener, guard: Object.defineProperties({ inProgress: 0 }, { inProgress }) };
  },
};

const STORES: Record<string, () => Store> = {
  'answers at once': () => memoryStore(),
  'answers later': () => {
    const memory = memoryStore();
    return remoteStore({ sync: false, apply: async (steps) => memory.apply(steps) });
  },
};

async function statuses(visit: Visit, times: number): Promise<number[]> {
  const seen: number[] = [];
  for (let i = 0; i < times; i += 1) {
    seen.push(await visit());
    await new Promise(setImmediate); // the permit is being released
  }
  return seen;
}

const WORLDS = Object.keys(WITHOUT_CONNECTION).flatMap((world) =>
  Object.keys(FRAMEWORKS).flatMap((framework) =>
    Object.keys(STORES).map((store) => ({ world, framework, store })),
  ),
);

describe.each(WORLDS)('$framework under $world, with a store that $store', (names) => {
  const setUp = (limiter: Limiters) => {
    const store = STORES[names.store]?.() ?? expect.unreachable();
    const { app, guard } = FRAMEWORKS[names.framework]?.(limiter, store) ?? expect.unreachable();
    return { guard, visit: WITHOUT_CONNECTION[names.world]?.(app) ?? expect.unreachable() };
  };

  it('gives back the permits of a limit on requests in progress', async () => {
    const { guard, visit } = setUp(concurrencyLimit({ name: 'two', limit: 2, key: 'all' }));
    expect(await statuses(visit, 5)).toEqual([200, 200, 200, 200, 200]);
    expect(guard.inProgress).toBe(0);
  });

  it('gives back what is refunded, and the outcome is that of a request that was answered', async () => {
    const refundIf = (_: unknown, { status, aborted }: forExpress.RequestOutcome) =>
      status === 200 && aborted === false;
    const { visit } = setUp(rateLimit({ name: 'r', limit: 2, window: '1h', key: 'all', refundIf }));
    expect(await statuses(visit, 5)).toEqual([200, 200, 200, 200, 200]);
  });

  it('gives back what it took for a response that another middleware had ended', async () => {
    const store = STORES[names.store]?.() ?? expect.unreachable();
    const limiter = concurrencyLimit({ name: 'two', limit: 2, key: 'all' });
    const guard = forExpress.spillway(limiter as never, { store });
    const app = express().use((_req, res, next) => {
      res.end('answered');
      next();
    }, guard);
    const visit = WITHOUT_CONNECTION[names.world]?.(app) ?? expect.unreachable();
    expect(await statuses(visit, 3)).toEqual([200, 200, 200]);
    expect(guard.inProgress).toBe(0);
  });

  it('does not fill a fleet with requests that are over', async () => {
    const { guard, visit } = setUp(fleetShedder({ name: 'fleet', capacity: 10 }));
    expect(await statuses(visit, 12)).toEqual(Array(12).fill(200));
    expect(guard.inProgress).toBe(0);
  });
});
