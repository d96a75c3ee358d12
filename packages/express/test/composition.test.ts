import { admissionsOf, rateLimit, spillway } from '@spillway/express';
import { composition, exemptions } from 'spillway-testkit/adapters';
import { describe, expect, it } from 'vitest';
import { EXPRESS, serve } from './service.js';

describe.each(EXPRESS)('Express $major', ({ driver }) => {
  composition(driver);
  exemptions(driver);
});

describe.each(EXPRESS)('Express $major', ({ express }) => {
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
});
