/** Limits of the plugin, of groups and of routes make one guard and one decision; and which routes they apply to. */

import { remoteStore } from '@spillway/core/store';
import {
  admissionsOf,
  concurrencyLimit,
  type Fault,
  memoryStore,
  rateLimit,
  type Step,
  type Store,
  spillway,
} from '@spillway/fastify';
import { describe, expect, it } from 'vitest';
import { makeApp, serve, statuses } from './service.js';

const limit = (name: string, most: number, window: '1h' | '1m' = '1h') =>
  rateLimit({ name, limit: most, window });

/** A memory store that records its calls. */
function watchedStore(): { store: Store; calls: string[][] } {
  const memory = memoryStore();
  const calls: string[][] = [];
  const apply = (steps: readonly Step[]) => {
    calls.push(steps.map(({ limiter }) => limiter));
    return memory.apply(steps);
  };
  return { store: remoteStore({ sync: true, apply }) as Store, calls };
}

describe('global limits, groups and limits of a route', () => {
  it('are one decision, in one call of the store', async () => {
    const { store, calls } = watchedStore();
    const app = makeApp();
    const groups = { login: [limit('failures', 9), limit('logins', 9)] };
    app.register(spillway, { limiters: limit('all', 9), groups, store });
    app.post('/login', { config: { spillway: ['login', limit('own', 9)] } }, (request) =>
      admissionsOf(request).map(({ decisions }) => decisions.map(({ limiter }) => limiter)),
    );
    const { body } = await app.inject({ method: 'POST', url: '/login' });
    expect(JSON.parse(body)).toEqual([['all', 'failures', 'logins', 'own']]);
    expect(calls).toEqual([['all', 'failures', 'logins', 'own']]);
  });

  it('charge nothing if one of them refuses', async () => {
    const app = makeApp();
    app.register(spillway, { limiters: limit('all', 3) });
    app.get('/tight', { config: { spillway: limit('tight', 1) } }, () => 'ok');
    app.get('/', () => 'ok');
    expect(await statuses(app, '/tight', 9)).toEqual([200, ...Array(8).fill(429)]);
    expect(await statuses(app, '/', 3)).toEqual([200, 200, 429]);
  });

  it('are left out where a route says false', async () => {
    const app = makeApp();
    app.register(spillway, { limiters: limit('all', 1) });
    app.get('/health', { config: { spillway: false } }, () => 'ok');
    expect(await statuses(app, '/health', 3)).toEqual([200, 200, 200]);
  });

  it('may be only those of routes', async () => {
    const app = makeApp();
    app.register(spillway, {});
    app.get('/', () => 'ok');
    app.get('/one', { config: { spillway: limit('one', 1) } }, () => 'ok');
    expect(await statuses(app, '/', 3)).toEqual([200, 200, 200]);
    expect(await statuses(app, '/one', 2)).toEqual([200, 429]);
  });

  it('count together on all routes that name a group, and apart for limiters of their own', async () => {
    const app = makeApp();
    app.register(spillway, { groups: { few: limit('few', 2) } });
    for (const path of ['/a', '/b']) app.get(path, { config: { spillway: 'few' } }, () => 'ok');
    for (const path of ['/c', '/d']) {
      app.get(path, { config: { spillway: limit('own', 1) } }, () => 'ok');
    }
    expect(await statuses(app, '/a', 1)).toEqual([200]);
    expect(await statuses(app, '/b', 2)).toEqual([200, 429]);
    expect(await statuses(app, '/a', 1)).toEqual([429]);
    expect(await statuses(app, '/c', 2)).toEqual([200, 429]);
    expect(await statuses(app, '/d', 2)).toEqual([200, 429]);
  });

  it('hold a limiter that is named twice for a route once', async () => {
    const { store, calls } = watchedStore();
    const app = makeApp();
    const all = limit('all', 5);
    app.register(spillway, { limiters: all, groups: { same: all }, store });
    app.get('/', { config: { spillway: ['same', all] } }, () => 'ok');
    await app.inject('/');
    expect(calls).toEqual([['all']]);
  });
});

describe('a route that was declared before the plugin', () => {
  it('is limited, with what it says itself', async () => {
    const app = makeApp();
    app.get('/', () => 'ok');
    app.get('/tight', { config: { spillway: limit('tight', 1) } }, () => 'ok');
    app.register(async (child) => {
      child.get('/child', () => 'ok');
    });
    await app.after();
    app.register(spillway, { limiters: limit('all', 3) });
    app.get('/after', () => 'ok');
    expect(await statuses(app, '/tight', 2)).toEqual([200, 429]);
    expect(await statuses(app, '/child', 1)).toEqual([200]);
    expect(await statuses(app, '/', 1)).toEqual([200]);
    expect(await statuses(app, '/after', 1)).toEqual([429]);
  });

  it('has the limits of the plugin, and is told, where it names a group that there is not', async () => {
    const faults: Fault[] = [];
    const app = makeApp();
    app.get('/', { config: { spillway: 'nobody' } }, () => 'ok');
    const observed: Fault[] = [];
    app.register(spillway, {
      limiters: limit('all', 1),
      onFault: (fault) => faults.push(fault),
      observers: [{ onFault: (fault) => void observed.push(fault) }],
    });
    expect(await statuses(app, '/', 2)).toEqual([200, 429]);
    expect(faults[0]).toMatchObject({ source: 'adapter', error: { code: 'SPW_OPTION_INVALID' } });
    expect(observed).toEqual(faults);
  });
});

describe('by preHandler', () => {
  it('a body that is not valid costs nothing', async () => {
    const app = makeApp();
    app.register(spillway, { limiters: limit('valid', 1), hook: 'preHandler' });
    app.post('/', () => 'ok');
    const post = async (payload: string) => {
      const headers = { 'content-type': 'application/json' };
      return (await app.inject({ method: 'POST', url: '/', headers, payload })).statusCode;
    };
    expect([await post('{'), await post('{}'), await post('{}')]).toEqual([400, 200, 429]);
  });

  it('a request is counted once though its handler hands it to the 404 handler', async () => {
    const app = makeApp();
    app.register(spillway, { limiters: limit('all', 2), hook: 'preHandler' });
    app.get('/', { config: { spillway: limit('own', 9) } }, (_request, reply) => {
      reply.callNotFound();
    });
    expect(await statuses(app, '/', 3)).toEqual([404, 404, 429]);
  });
});

it('knows the route, the method and the path, so that a limit can cost by them', async () => {
  const seen: string[] = [];
  const app = makeApp();
  const cost = (request: { method: string; path: string; route?: string | undefined }) => {
    seen.push(`${request.method} ${request.path} ${request.route}`);
    return 1;
  };
  app.register(spillway, { limiters: rateLimit({ limit: 10, window: '1m', cost }) });
  app.register(
    async (child) => {
      child.delete('/users/:id', () => 'ok');
    },
    { prefix: '/api' },
  );
  await app.inject({ method: 'DELETE', url: '/api/users/7?x=1' });
  await app.inject('/nowhere/x?y=1');
  expect(seen).toEqual(['DELETE /api/users/7 /api/users/:id', 'GET /nowhere/x undefined']);
});

it('tells the whole path, whatever Fastify was told to make of it', async () => {
  const paths: string[] = [];
  const key = ({ path }: { path: string }) => void paths.push(path);
  const app = makeApp({ rewriteUrl: ({ url }) => `/v1${url}` });
  app.register(spillway, { limiters: rateLimit({ limit: 10, window: '1m', key }) });
  app.get('/v1/a', () => 'ok');
  const { get } = await serve(app);
  expect((await get('/a?b')).status).toBe(200);
  expect(paths).toEqual(['/a']);
});

it('makes one guard for routes of the same limiters', async () => {
  const app = makeApp();
  const [all, own] = [limit('all', 9), limit('own', 9)];
  app.register(spillway, { limiters: all, groups: { own } });
  const guard = (request: object) => admissionsOf(request)[0]?.guard;
  const guards: unknown[] = [];
  for (const [index, config] of ['own', own, [own], ['own', own]].entries()) {
    app.get(`/${index}`, { config: { spillway: config } }, (request) => {
      guards.push(guard(request));
      return 'ok';
    });
  }
  for (const index of [0, 1, 2, 3]) await app.inject(`/${index}`);
  expect(guards[0]).toBeDefined();
  expect(new Set(guards).size).toBe(1);
});

it('limits requests in progress on all routes together', async () => {
  const app = makeApp();
  app.register(spillway, { limiters: concurrencyLimit({ name: 'one', limit: 1, key: 'all' }) });
  let go: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  app.get('/held', () => held.then(() => 'ok'));
  app.get('/', () => 'ok');
  const first = app.inject('/held');
  await new Promise(setImmediate);
  expect(app.spillway.inProgress).toBe(1);
  expect((await app.inject('/')).statusCode).toBe(429);
  go();
  expect((await first).statusCode).toBe(200);
  expect(app.spillway.inProgress).toBe(0);
  expect((await app.inject('/')).statusCode).toBe(200);
});
