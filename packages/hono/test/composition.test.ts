import { admissionsOf, rateLimit, spillway } from '@spillway/hono';
import { Hono } from 'hono';
import { composition, exemptions, requests, stores } from 'spillway-testkit/adapters';
import { describe, expect, it } from 'vitest';
import { WAYS } from './service.js';

const all = { key: 'all' } as const;

describe.each(WAYS)('over %s', (_, { driver }) => {
  composition(driver);
  exemptions(driver);
  requests(driver);
  stores(driver);
});

describe.each(WAYS)('over %s', (_, { serve }) => {
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
    const { get } = await serve(app);
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
    const { get } = await serve(app);
    await get('/before/x?y=1');
    const { headers } = await get('/api/users/7?x=1', { method: 'DELETE' });
    expect(headers['ratelimit']).toContain('r=5;');
    expect(routes).toEqual(['GET /before/x undefined', 'DELETE /api/users/7 /api/users/:id']);
  });
});
