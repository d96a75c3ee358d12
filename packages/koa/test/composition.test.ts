/** Several guards for one request, and the ways to exempt a request. */

import Router from '@koa/router';
import { admissionsOf, rateLimit, spillway } from '@spillway/koa';
import { composition, exemptions, requests } from 'spillway-testkit/adapters';
import { describe, expect, it } from 'vitest';
import { KOA, serve } from './service.js';

describe.each(KOA)('Koa $major', ({ driver }) => {
  composition(driver);
  exemptions(driver);
  requests(driver);
});

describe.each(KOA)('Koa $major', ({ Koa }) => {
  it('shows handlers the decisions of every guard that ran', async () => {
    const app = new Koa();
    app.use(spillway(rateLimit({ name: 'app', limit: 9, window: '1m' })));
    app.use(spillway(rateLimit({ name: 'route', limit: 5, window: '1m' })));
    app.use((ctx) => {
      const decisions = admissionsOf(ctx).flatMap((admission) => admission.decisions);
      const shown = decisions.map(({ limiter, remaining }) => [limiter, remaining]);
      ctx.body = { shown, context: ctx.toJSON() };
    });
    const { get } = await serve(app);
    const { body } = await get();
    expect(JSON.parse(body).shown).toEqual([
      ['app', 8],
      ['route', 4],
    ]);
    expect(JSON.stringify(JSON.parse(body).context)).not.toContain('spillway');
  });

  it('knows the route of @koa/router, so that a limit can cost by it', async () => {
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
    const router = new Router({ prefix: '/api' });
    const ok = (ctx: { status: number }) => {
      ctx.status = 200;
    };
    router.delete('/users/:id', guard, ok);
    router.get(/^\/by-expression/, guard, ok);
    const app = new Koa();
    app.use((ctx, next) => (ctx.path === '/before/x' ? guard(ctx, next) : next()));
    app.use(router.routes());
    const { get } = await serve(app);
    await get('/before/x?y=1');
    expect((await get('/api/users/7?x=1', { method: 'DELETE' })).headers['ratelimit']).toContain(
      'r=5;',
    );
    expect(routes).toEqual(['GET /before/x undefined', 'DELETE /api/users/7 /api/users/:id']);
  });

  it('tells the whole path, whatever middleware before it made of it', async () => {
    const paths: string[] = [];
    const app = new Koa();
    app.use((ctx, next) => {
      ctx.path = ctx.path.slice('/mount'.length); // as koa-mount does
      return next();
    });
    const key = ({ path }: { path: string }) => void paths.push(path);
    app.use(spillway(rateLimit({ limit: 10, window: '1m', key })));
    const { get } = await serve(app);
    await get('/mount/a/b?c=d#e');
    await get('http://example.org/mount/a?b');
    await get('http://example.org?/mount/a');
    expect(paths).toEqual(['/mount/a/b', '/mount/a', '/']);
  });
});
