/** The notes service behind express-rate-limit. */

import { isAda, NOTES, TOO_MANY } from 'example-notes-service';
import express, { type Express } from 'express';
import { rateLimit } from 'express-rate-limit';

export function createApp(): Express {
  const app = express();
  app.set('trust proxy', 1);

  const api = rateLimit({
    windowMs: 60_000,
    limit: 100,
    skip: (req) => req.path === '/health',
    message: TOO_MANY,
  });
  const logins = rateLimit({
    windowMs: 15 * 60_000,
    limit: 5,
    skipSuccessfulRequests: true,
    message: TOO_MANY,
  });

  app.use(api);
  app.get('/health', (_req, res) => void res.send('ok'));
  app.get('/notes', (_req, res) => void res.json(NOTES));
  app.post('/login', logins, (req, res) => {
    res.sendStatus(isAda(req.headers.authorization) ? 204 : 401);
  });
  return app;
}
