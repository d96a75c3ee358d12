/** Several guards over one request, the ways to be exempt, and what handlers see. */

import { ManualClock } from '@spillway/core/testing';
import {
  admissionsOf,
  concurrencyLimit,
  memoryStore,
  rateLimit,
  type SpillwayOptions,
  spillway,
} from '@spillway/hono';
import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import { WAYS } from './service.js';
import { brokenStore } from './stores.js';

const all = { key: 'all' } as const;

describe.each(WAYS)('over $way', ({ serve }) => {
  it('joins the fields of guards on the app and on a route into lists, in their order', async () => {
    const options = { store: memoryStore({ clock: new ManualClock() }) };
    const app = new Hono();
    app.use(spillway(rateLimit({ name: 'app', limit: 3, window: '1m', ...all }), options));
    const route = rateLimit({ name: 'route', limit: 1, window: '1h', ...all });
    app.get('/', spillway(route, options), (c) => c.text('hello'));
    const get = await serve(app);
    expect((await get()).fields).toMatchObject({
      'ratelimit-policy': '"app";q=3;w=60, "route";q=1;w=3600',
      ratelimit: '"app";r=2;t=20, "route";r=0;t=3600',
    });
    const { status, fields, body } = await get();
    expect(status).toBe(429);
    expect(fields).toMatchObject({
      'ratelimit-policy': '"app";q=3;w=60, "route";q=1;w=3600',
      ratelimit: '"app";r=1;t=40, "route";r=0;t=3600',
      'retry-after': '3600',
      'content-type': 'application/problem+json',
    });
    expect(JSON.parse(body)['violated-policies']).toEqual(['route']);
  });

  it('shows of the legacy fields those of the guard with less left, whichever ran first', async () => {
    const options: SpillwayOptions = { store: memoryStore(), headers: ['legacy'] };
    const guard = (name: string, limit: number) =>
      spillway(rateLimit({ name, limit, window: '1m', ...all }), options);
    const app = new Hono();
    app.get('/a', guard('few', 3), guard('many', 9), (c) => c.text(''));
    app.get('/b', guard('many', 9), guard('few', 3), (c) => c.text(''));
    const get = await serve(app);
    expect((await get('/a')).fields['x-ratelimit-limit']).toBe('3');
    expect((await get('/b')).fields['x-ratelimit-limit']).toBe('3');
  });

  it('shows handlers the decisions of every guard that ran, typed', async () => {
    const app = new Hono();
    app.use(spillway(rateLimit({ name: 'app', limit: 9, window: '1m', ...all })));
    const route = spillway(rateLimit({ name: 'route', limit: 5, window: '1m', ...all }));
    app.get('/', route, (c) => {
      const decisions = c.var.spillway ?? [];
      const admissions = admissionsOf(c).flatMap((admission) => admission.decisions);
      const same = JSON.stringify(admissions) === JSON.stringify(c.get('spillway'));
      return c.json({ shown: decisions.map((one) => [one.limiter, one.remaining]), same });
    });
    const get = await serve(app);
    expect(JSON.parse((await get()).body)).toEqual({
      shown: [
        ['app', 8],
        ['route', 4],
      ],
      same: true,
    });
  });

  it('knows the route it stands on, so that a limit can cost by it', async () => {
    const routes: (string | undefined)[] = [];
    const limiter = rateLimit({
      limit: 10,
      window: '1m',
      ...all,
      cost: ({ method, path, route }) => {
        routes.push(`${method} ${path} ${route}`);
        return route === '/api/users/:id' ? 4 : 1;
      },
    });
    const guard = spillway(limiter);
    const users = new Hono().delete('/users/:id', guard, (c) => c.text(''));
    const app = new Hono();
    app.use('/before/*', guard);
    app.route('/api', users);
    const get = await serve(app);
    await get('/before/x?y=1');
    const { fields } = await get('/api/users/7?x=1', { method: 'DELETE' });
    expect(fields['ratelimit']).toContain('r=5;');
    expect(routes).toEqual(['GET /before/x undefined', 'DELETE /api/users/7 /api/users/:id']);
  });

  it('changes nothing a client can see in shadow mode, and says what it would have done', async () => {
    const outcomes: string[] = [];
    const limiters = [
      rateLimit({ name: 'dark', limit: 1, window: '1h', mode: 'shadow', ...all }),
      concurrencyLimit({ name: 'dark too', limit: 9, mode: 'shadow', ...all }),
    ];
    const options: SpillwayOptions = {
      headers: ['draft-11', 'legacy'],
      onDecision: ({ outcome, limiter }) => limiter === 'dark' && outcomes.push(outcome),
    };
    const replies = async (app: Hono) => {
      const get = await serve(app.get('/', (c) => c.json({ ok: true })));
      return [await get(), await get(), await get('/', { method: 'HEAD' })];
    };
    const shadowed = await replies(new Hono().use(spillway(limiters, options)));
    expect(shadowed).toEqual(await replies(new Hono()));
    expect(outcomes).toEqual(['allowed', 'would-deny', 'would-deny']);
  });

  it('skips what the app exempts, and CORS preflights', async () => {
    const skip: SpillwayOptions['skip'] = ({ path }) => path === '/healthz';
    const app = new Hono();
    app.use(spillway(rateLimit({ limit: 1, window: '1h', ...all }), { skip }));
    app.all('*', (c) => c.text(''));
    const get = await serve(app);
    const preflight = {
      method: 'OPTIONS',
      headers: { origin: 'https://a.example', 'access-control-request-method': 'PUT' },
    };
    for (let i = 0; i < 3; i += 1) {
      expect(await get('/healthz')).toMatchObject({ status: 200 });
      expect((await get('/healthz')).fields['ratelimit']).toBeUndefined();
      expect((await get('/', preflight)).status).toBe(200);
    }
    expect((await get()).status).toBe(200);
    expect((await get('/', { method: 'OPTIONS' })).status).toBe(429);
    const noOrigin = { 'access-control-request-method': 'PUT' };
    expect((await get('/', { method: 'OPTIONS', headers: noOrigin })).status).toBe(429);
  });

  it.each([
    ['allow', 404],
    ['deny', 503],
    ['local', 404],
  ] as const)(
    'answers by onStoreError %s while the store is down',
    async (onStoreError, status) => {
      const app = new Hono();
      const limiter = rateLimit({ name: 'a', limit: 5, window: '1h', ...all });
      app.use(spillway(limiter, { store: { ...brokenStore }, onStoreError }));
      const get = await serve(app);
      expect((await get()).status).toBe(status);
    },
  );

  it('gives the permits of requests in progress back when it is closed', async () => {
    const store = memoryStore();
    const limiter = () => concurrencyLimit({ name: 'a', limit: 1, ...all });
    const guard = spillway(limiter(), { store });
    const app = new Hono();
    let finish: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => {
      app.get('/', guard, async (c) => {
        resolve();
        await new Promise<void>((go) => {
          finish = go;
        });
        return c.text('done');
      });
    });
    app.get('/other', spillway(limiter(), { store }), (c) => c.text(''));
    const get = await serve(app);
    const held = get();
    await waiting;
    expect((await get('/other')).status).toBe(429);
    await guard.close();
    expect((await get('/other')).status).toBe(200);
    finish();
    expect((await held).body).toBe('done');
  });
});
