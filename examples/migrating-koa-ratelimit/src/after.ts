/** The notes service behind Spillway. */

import Router from '@koa/router';
import { fixedWindow, rateLimit, type SpillwayOptions, spillway } from '@spillway/koa';
import { isAda, NOTES, TOO_MANY } from 'example-notes-service';
import Koa from 'koa';

/** A window begins with a client's first request, as before. */
const WINDOWS = { algorithm: fixedWindow, anchor: 'first-request' } as const;

export function createApp(): Koa {
  const app = new Koa({ proxy: true });

  const options: SpillwayOptions = {
    trustProxy: 1,
    skip: ({ path }) => path === '/health',
    headers: ['draft-11', 'legacy'],
    onRejected: (_admission, ctx) => {
      ctx.body = TOO_MANY;
    },
  };
  const api = rateLimit({ name: 'api', limit: 100, window: '1m', ...WINDOWS });
  const logins = rateLimit({ name: 'logins', limit: 5, window: '15m', ...WINDOWS });

  const router = new Router();
  router.get('/health', (ctx) => {
    ctx.body = 'ok';
  });
  router.get('/notes', (ctx) => {
    ctx.body = NOTES;
  });
  router.post('/login', spillway(logins, options), (ctx) => {
    ctx.status = isAda(ctx.get('authorization')) ? 204 : 401;
  });
  app.use(spillway(api, options));
  app.use(router.routes());
  return app;
}
