/** The notes service behind koa-ratelimit. */

import Router from '@koa/router';
import { isAda, NOTES, TOO_MANY } from 'example-notes-service';
import Koa from 'koa';
import ratelimit from 'koa-ratelimit';

export function createApp(): Koa {
  const app = new Koa({ proxy: true });

  const db = new Map();
  const api = ratelimit({
    driver: 'memory',
    db,
    namespace: 'api',
    max: 100,
    duration: 60_000,
    whitelist: (ctx) => ctx.path === '/health',
    errorMessage: TOO_MANY,
  });
  const logins = ratelimit({
    driver: 'memory',
    db,
    namespace: 'logins',
    max: 5,
    duration: 15 * 60_000,
    errorMessage: TOO_MANY,
  });

  const router = new Router();
  router.get('/health', (ctx) => {
    ctx.body = 'ok';
  });
  router.get('/notes', (ctx) => {
    ctx.body = NOTES;
  });
  router.post('/login', logins, (ctx) => {
    ctx.status = isAda(ctx.get('authorization')) ? 204 : 401;
  });
  app.use(api);
  app.use(router.routes());
  return app;
}
