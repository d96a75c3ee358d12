/** The notes service behind Spillway. */

import { getConnInfo } from '@hono/node-server/conninfo';
import { fixedWindow, rateLimit, type SpillwayOptions, spillway } from '@spillway/hono';
import { isAda, NOTES, TOO_MANY } from 'example-notes-service';
import { Hono } from 'hono';

/** A window begins with a client's first request, as before. */
const WINDOWS = { algorithm: fixedWindow, anchor: 'first-request' } as const;

export function createApp(): Hono {
  const app = new Hono();

  const options: SpillwayOptions = {
    clientIp: (c) => getConnInfo(c).remote.address,
    trustProxy: 1,
    skip: ({ path }) => path === '/health',
    headers: ['draft-6'],
    onRejected: (_admission, c) => c.json(TOO_MANY),
  };
  const api = rateLimit({ name: 'api', limit: 100, window: '1m', ...WINDOWS });
  const logins = rateLimit({
    name: 'logins',
    limit: 5,
    window: '15m',
    ...WINDOWS,
    refundIf: (_request, { status = 500, aborted }) => status < 400 && !aborted,
  });

  app.use(spillway(api, options));
  app.get('/health', (c) => c.text('ok'));
  app.get('/notes', (c) => c.json(NOTES));
  app.post('/login', spillway(logins, options), (c) =>
    c.body(null, isAda(c.req.header('authorization')) ? 204 : 401),
  );
  return app;
}
