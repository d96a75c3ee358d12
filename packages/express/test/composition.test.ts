import { workerShedder } from '@spillway/core';
import { nodeGuard } from '@spillway/core/node';
import { ManualClock } from '@spillway/core/testing';
import { admissionsOf, rateLimit, spillway } from '@spillway/express';
import { composition, exemptions, requests } from 'spillway-testkit/adapters';
import { serveListener } from 'spillway-testkit/http';
import { describe, expect, it } from 'vitest';
import { EXPRESS, serve } from './service.js';

describe.each(EXPRESS)('Express $major', ({ driver }) => {
  composition(driver);
  exemptions(driver);
  requests(driver);
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
    await get('/before?y=1');
    expect((await get('/aPI/users/7?x=1', { method: 'DELETE' })).headers['ratelimit']).toContain(
      'r=4;',
    );
    expect(routes).toEqual([
      'GET /before/x undefined',
      'GET /before undefined',
      'DELETE /aPI/users/7 /api/users/:id',
    ]);
  });

  it('tells the whole path, whatever middleware before it made of it', async () => {
    const paths: string[] = [];
    const key = ({ path }: { path: string }) => void paths.push(path);
    const app = express();
    app.use((req, _res, next) => {
      req.url = `/v1${req.url}`;
      next();
    });
    app.use('/v1/mount', spillway(rateLimit({ limit: 10, window: '1m', key })));
    const { get } = await serve(app);
    await get('/mount/a?b');
    expect(paths).toEqual(['/mount/a']);
  });

  it('sheds before the app, as docs/shedding.md does, and limits the rest in it', async () => {
    const clock = new ManualClock();
    const seen: string[] = [];
    const shed = nodeGuard(
      workerShedder({
        name: 'workers',
        ladder: false,
        brake: { signal: { name: 'busy', read: () => ({ value: 9, ageMs: 0 }) } },
        priority: (request) => (request.header('x-api-key') === 'paid' ? 'critical' : undefined),
        random: () => 0,
        clock,
      }),
    );
    const app = express();
    app.use(spillway(rateLimit({ name: 'app', limit: 1, window: '1m' })));
    app.use((req, res) => {
      seen.push(req.url);
      res.end('served');
    });
    const { get } = await serveListener(async (req, res) => {
      if (await shed(req, res)) app(req, res);
    });
    await get('/first'); // the first request starts the brake's sampling
    clock.advance('200ms');
    const refused = await get('/usual');
    expect(refused.status).toBe(503);
    expect(refused.body).toContain('"workers"');
    expect(refused.headers['ratelimit']).toBeUndefined();
    const paid = await get('/paid', { headers: { 'x-api-key': 'paid' } });
    expect([paid.status, paid.headers['ratelimit']]).toEqual([429, expect.stringContaining('r=0')]);
    expect(seen).toEqual(['/first']);
  });
});
