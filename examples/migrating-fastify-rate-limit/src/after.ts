/** The notes service behind Spillway. */

import { fixedWindow, rateLimit, spillway } from '@spillway/fastify';
import { isAda, NOTES, TOO_MANY } from 'example-notes-service';
import Fastify, { type FastifyInstance } from 'fastify';

/** A window begins with a client's first request, as before. */
const WINDOWS = { algorithm: fixedWindow, anchor: 'first-request' } as const;

export function createApp(): FastifyInstance {
  const app = Fastify({ trustProxy: '127.0.0.1' });

  app.register(spillway, {
    limiters: rateLimit({ name: 'api', limit: 100, window: '1m', ...WINDOWS }),
    headers: ['draft-11', 'legacy'],
    onRejected: () => ({ statusCode: 429, ...TOO_MANY }),
  });

  app.after(() => {
    app.get('/health', { config: { spillway: false } }, () => 'ok');
    app.get('/notes', () => NOTES);
    const logins = rateLimit({
      name: 'logins',
      limit: 5,
      window: '15m',
      ...WINDOWS,
    });
    app.post('/login', { config: { spillway: logins } }, (request, reply) => {
      return reply.code(isAda(request.headers.authorization) ? 204 : 401).send();
    });
  });
  return app;
}
