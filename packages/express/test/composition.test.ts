/** Several guards over one request, and the ways to be exempt. */

import { ManualClock } from '@spillway/core/testing';
import {
  admissionsOf,
  type DecisionEvent,
  memoryStore,
  rateLimit,
  type SpillwayOptions,
  spillway,
} from '@spillway/express';
import type { Express } from 'express';
import { describe, expect, it } from 'vitest';
import { EXPRESS, type Reply, serve } from './service.js';

describe.each(EXPRESS)('Express $major', ({ express }) => {
  it('joins the fields of guards on the app and on a route into lists', async () => {
    const options = { store: memoryStore({ clock: new ManualClock() }) };
    const app = express();
    app.use(spillway(rateLimit({ name: 'app', limit: 3, window: '1m' }), options));
    const route = rateLimit({ name: 'route', limit: 1, window: '1h' });
    app.get('/', spillway(route, options), (_req, res) => {
      res.end();
    });
    const { get } = await serve(app);
    expect((await get()).fields.slice(0, 2)).toEqual([
      ['RateLimit-Policy', '"app";q=3;w=60, "route";q=1;w=3600'],
      ['RateLimit', '"app";r=2;t=20, "route";r=0;t=3600'],
    ]);
    const { status, headers, body } = await get();
    expect(status).toBe(429);
    expect(headers['ratelimit']).toBe('"app";r=1;t=40, "route";r=0;t=3600');
    expect(headers['retry-after']).toBe('3600');
    expect(JSON.parse(body)['violated-policies']).toEqual(['route']);
  });

  it('shows of the legacy fields those of the guard with less left, whichever ran first', async () => {
    const options: SpillwayOptions = { store: memoryStore(), headers: ['legacy'] };
    const guard = (name: string, limit: number) =>
      spillway(rateLimit({ name, limit, window: '1m' }), options);
    const app = express();
    app.get('/a', guard('few', 3), guard('many', 9));
    app.get('/b', guard('many', 9), guard('few', 3));
    const { get } = await serve(app);
    expect((await get('/a')).headers['x-ratelimit-limit']).toBe('3');
    expect((await get('/b')).headers['x-ratelimit-limit']).toBe('3');
  });

  it('charges none of the limiters of one guard when one refuses', async () => {
    const app = express();
    const decisions: DecisionEvent[] = [];
    const limiters = [
      rateLimit({ name: 'wide', limit: 5, window: '1h' }),
      rateLimit({ name: 'tight', limit: 1, window: '1h' }),
    ];
    app.use(spillway(limiters, { onDecision: (event) => decisions.push(event) }));
    const { get } = await serve(app);
    await get();
    await get();
    await get();
    const told = decisions.map(({ limiter, outcome, remaining }) => [limiter, outcome, remaining]);
    expect(told).toEqual([
      ['wide', 'allowed', 4],
      ['tight', 'allowed', 0],
      ['wide', 'allowed', 4],
      ['tight', 'denied', 0],
      ['wide', 'allowed', 4],
      ['tight', 'denied', 0],
    ]);
  });

  it('shows handlers the decisions of every guard that ran', async () => {
    const app = express();
    app.use(spillway(rateLimit({ name: 'app', limit: 9, window: '1m' })));
    app.get('/', spillway(rateLimit({ name: 'route', limit: 5, window: '1m' })), (req, res) => {
      const decisions = admissionsOf(req).flatMap((admission) => admission.decisions);
      const shown = decisions.map(({ limiter, remaining }) => [limiter, remaining]);
      res.json({ shown, keys: Object.keys(req).filter((key) => key.includes('spillway')) });
    });
    const { get } = await serve(app);
    const { body } = await get();
    expect(JSON.parse(body)).toEqual({
      shown: [
        ['app', 8],
        ['route', 4],
      ],
      keys: [],
    });
    expect(admissionsOf({})).toEqual([]);
  });

  it('knows the route, so that a limit can cost by it', async () => {
    const routes: (string | undefined)[] = [];
    const limiter = rateLimit({
      limit: 10,
      window: '1m',
      cost: ({ method, path, route }) => {
        routes.push(`${method} ${path} ${route}`);
        return route === '/api/users/:id' ? 4 : 1;
      },
    });
    const guard = spillway(limiter);
    const router = express.Router();
    router.delete('/users/:id', guard, (_req, res) => {
      res.end();
    });
    const app = express();
    app.use('/before', guard);
    app.use('/api', router);
    const { get } = await serve(app);
    await get('/before/x?y=1');
    expect((await get('/aPI/users/7?x=1', { method: 'DELETE' })).headers['ratelimit']).toContain(
      'r=5;',
    );
    expect(routes).toEqual(['GET /before/x undefined', 'DELETE /aPI/users/7 /api/users/:id']);
  });

  it('changes nothing a client can see in shadow mode, and says what it would have done', async () => {
    const outcomes: string[] = [];
    const limiter = rateLimit({ name: 'dark', limit: 1, window: '1h', mode: 'shadow' });
    const options: SpillwayOptions = {
      headers: ['draft-11', 'legacy'],
      onDecision: ({ outcome }) => outcomes.push(outcome),
    };
    const plain = answering(express());
    const shadowed = answering(express().use(spillway(limiter, options)));
    expect(await thrice(shadowed)).toEqual(await thrice(plain));
    expect(outcomes).toEqual(['allowed', 'would-deny', 'would-deny']);
  });

  it('does not even ask a limiter that is off, and asks again when it is on', async () => {
    let mode: 'off' | 'enforce' = 'off';
    const app = express();
    app.use(spillway(rateLimit({ limit: 1, window: '1h', mode: () => mode })));
    const { get } = await serve(answering(app));
    expect([(await get()).status, (await get()).status]).toEqual([200, 200]);
    expect((await get()).headers['ratelimit']).toBeUndefined();
    mode = 'enforce';
    expect([(await get()).status, (await get()).status]).toEqual([200, 429]);
  });

  it('skips what the app exempts, and CORS preflights', async () => {
    const app = express();
    const skip: SpillwayOptions['skip'] = ({ path }) => path === '/healthz';
    app.use(spillway(rateLimit({ limit: 1, window: '1h' }), { skip }));
    const { get } = await serve(answering(app));
    const preflight = {
      method: 'OPTIONS',
      headers: { origin: 'https://a.example', 'access-control-request-method': 'PUT' },
    };
    for (let i = 0; i < 3; i += 1) {
      expect((await get('/healthz')).status).toBe(200);
      expect((await get('/', preflight)).status).toBe(200);
    }
    expect((await get()).status).toBe(200);
    expect((await get('/', { method: 'OPTIONS' })).status).toBe(429);
    const noOrigin = { 'access-control-request-method': 'PUT' };
    expect((await get('/', { method: 'OPTIONS', headers: noOrigin })).status).toBe(429);
  });
});

function answering(app: Express): Express {
  return app.use((_req, res) => {
    res.json({ ok: true });
  });
}

async function thrice(app: Express): Promise<Reply['fields'][]> {
  const { get } = await serve(app);
  const replies = [await get(), await get(), await get('/', { method: 'HEAD' })];
  return replies.map(({ status, fields, body }) => [
    ['status', `${status}`],
    ...fields,
    ['body', body],
  ]);
}
