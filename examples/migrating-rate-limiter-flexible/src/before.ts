/** The notes service behind rate-limiter-flexible: six failed logins block a caller for an hour. */

import { isAda, NOTES, TOO_MANY } from 'example-notes-service';
import express, { type Express, type RequestHandler } from 'express';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

export function createApp(): Express {
  const app = express();
  app.set('trust proxy', 1);

  const api = new RateLimiterMemory({ keyPrefix: 'api', points: 100, duration: 60 });
  const failures = new RateLimiterMemory({
    keyPrefix: 'login-failures',
    points: 5,
    duration: 15 * 60,
    blockDuration: 60 * 60,
  });

  const limit: RequestHandler = async (req, res, next) => {
    try {
      await api.consume(String(req.ip));
      next();
    } catch (rejected) {
      if (!(rejected instanceof RateLimiterRes)) return next(rejected);
      res.set('Retry-After', String(Math.ceil(rejected.msBeforeNext / 1_000)));
      res.status(429).json(TOO_MANY);
    }
  };

  app.get('/health', (_req, res) => void res.send('ok'));
  app.use(limit);
  app.get('/notes', (_req, res) => void res.json(NOTES));
  app.post('/login', async (req, res) => {
    const key = String(req.ip);
    const known = await failures.get(key);
    if (known && known.consumedPoints > failures.points) {
      res.set('Retry-After', String(Math.ceil(known.msBeforeNext / 1_000)));
      return res.status(429).json(TOO_MANY);
    }
    if (isAda(req.headers.authorization)) {
      await failures.delete(key);
      return res.sendStatus(204);
    }
    await failures.consume(key).catch(() => undefined);
    return res.sendStatus(401);
  });
  return app;
}
