/** The notes service behind Spillway: six failed logins block a caller for an hour. */

import { createLimiter, fixedWindow, rateLimit, spillway } from '@spillway/express';
import { isAda, NOTES, TOO_MANY } from 'example-notes-service';
import express, { type Express } from 'express';

/** A window begins with a client's first request, as before. */
const WINDOWS = { algorithm: fixedWindow, anchor: 'first-request' } as const;

export function createApp(): Express {
  const app = express();
  app.set('trust proxy', 1);

  const api = rateLimit({ name: 'api', limit: 100, window: '1m', ...WINDOWS });
  const failures = createLimiter({
    name: 'login-failures',
    limit: 5,
    window: '15m',
    ...WINDOWS,
  });
  const blocks = createLimiter({ name: 'login-blocks', limit: 1, window: '1h' }); // one block lasts an hour

  const limit = spillway(api, { onRejected: (_admission, _req, res) => res.json(TOO_MANY) });

  app.get('/health', (_req, res) => void res.send('ok'));
  app.use(limit);
  app.get('/notes', (_req, res) => void res.json(NOTES));
  app.post('/login', (req, res) => {
    const key = String(req.ip);
    const block = blocks.peek(key);
    if (!block.allowed) {
      res.set('Retry-After', String(Math.ceil(block.retryAfterMs / 1_000)));
      return res.status(429).json(TOO_MANY);
    }
    if (isAda(req.headers.authorization)) {
      failures.reset(key);
      return res.sendStatus(204);
    }
    if (!failures.consume(key).allowed) blocks.consume(key);
    return res.sendStatus(401);
  });
  return app;
}
