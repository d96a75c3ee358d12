/** The notes service behind hono-rate-limiter. */

import { isAda, NOTES, TOO_MANY } from 'example-notes-service';
import { type Context, Hono } from 'hono';
import { rateLimiter } from 'hono-rate-limiter';

export function createApp(): Hono {
  const app = new Hono();

  const keyGenerator = (c: Context): string => c.req.header('x-forwarded-for') ?? '';
  const api = rateLimiter({
    windowMs: 60_000,
    limit: 100,
    keyGenerator,
    skip: (c) => c.req.path === '/health',
    message: TOO_MANY,
  });
  const logins = rateLimiter({
    windowMs: 15 * 60_000,
    limit: 5,
    keyGenerator,
    skipSuccessfulRequests: true,
    message: TOO_MANY,
  });

  app.use(api);
  app.get('/health', (c) => c.text('ok'));
  app.get('/notes', (c) => c.json(NOTES));
  app.post('/login', logins, (c) => c.body(null, isAda(c.req.header('authorization')) ? 204 : 401));
  return app;
}
