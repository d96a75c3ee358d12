/** The notes service behind @fastify/rate-limit. */

import rateLimit from '@fastify/rate-limit';
import { isAda, NOTES, TOO_MANY } from 'example-notes-service';
import Fastify, { type FastifyInstance } from 'fastify';

export function createApp(): FastifyInstance {
  const app = Fastify({ trustProxy: '127.0.0.1' });

  app.register(rateLimit, {
    max: 100,
    timeWindow: '1 minute',
    errorResponseBuilder: () => ({ statusCode: 429, ...TOO_MANY }),
  });

  app.after(() => {
    app.get('/health', { config: { rateLimit: false } }, () => 'ok');
    app.get('/notes', () => NOTES);
    const logins = { max: 5, timeWindow: '15 minutes' };
    app.post('/login', { config: { rateLimit: logins } }, (request, reply) => {
      return reply.code(isAda(request.headers.authorization) ? 204 : 401).send();
    });
  });
  return app;
}
