/** From the admission to the close of the response: the permit is released exactly once, whatever happens. */

import { rateLimit, spillway } from '@spillway/express';
import type { ErrorRequestHandler } from 'express';
import {
  closing,
  departures,
  lifecycle,
  meters,
  metersCut,
  responses,
} from 'spillway-testkit/adapters';
import { describe, expect, it } from 'vitest';
import { EXPRESS, serve } from './service.js';

describe.each(EXPRESS)('Express $major', ({ driver }) => {
  lifecycle(driver);
  meters(driver);
  departures(driver);
  metersCut(driver);
  responses(driver);
  closing(driver);
});

describe.each(EXPRESS)('Express $major', ({ express }) => {
  it('throws nothing when the response has begun, or ended, before it', async () => {
    const app = express();
    const errors: unknown[] = [];
    app.get('/begun', (_req, res, next) => {
      res.write('begun, ');
      next();
    });
    app.get('/ended', (_req, res, next) => {
      res.end('ended');
      next();
    });
    app.use(spillway(rateLimit({ limit: 1, window: '1h', key: ({ path }) => path })));
    app.use((_req, res) => {
      if (!res.writableEnded) res.end('and ended');
    });
    app.use(((error, _req, _res, next) => {
      errors.push(error);
      next(error);
    }) as ErrorRequestHandler);
    const { get } = await serve(app);
    expect((await get('/begun')).body).toBe('begun, and ended');
    expect((await get('/begun')).body).toBe('begun, ');
    expect((await get('/ended')).body).toBe('ended');
    expect((await get('/ended')).body).toBe('ended');
    expect(errors).toEqual([]);
  });
});
