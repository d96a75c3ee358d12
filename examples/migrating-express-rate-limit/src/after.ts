/** The notes service behind Spillway. */

import { fixedWindow, rateLimit, type SpillwayOptions, spillway } from '@spillway/express';
import { isAda, NOTES, TOO_MANY } from 'example-notes-service';
import express, { type Express } from 'express';

/** A window begins with a client's first request, as before. */
const WINDOWS = { algorithm: fixedWindow, anchor: 'first-request' } as const;

export function createApp(): Express {
  const app = express();
  app.set('trust proxy', 1);

  const options: SpillwayOptions = {
    skip: ({ path }) => path === '/health',
    headers: ['draft-11', 'legacy'],
    onRejected: (_admission, _req, res) => res.json(TOO_MANY),
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
  app.get('/health', (_req, res) => void res.send('ok'));
  app.get('/notes', (_req, res) => void res.json(NOTES));
  app.post('/login', spillway(logins, options), (req, res) => {
    res.sendStatus(isAda(req.headers.authorization) ? 204 : 401);
  });
  return app;
}
