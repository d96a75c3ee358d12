/** Stores that answer at once, later, or not at all. */

import { memoryStore, rateLimit, spillway } from '@spillway/express';
import type { Request, Response } from 'express';
import { stores } from 'spillway-testkit/adapters';
import { describe, expect, it } from 'vitest';
import { EXPRESS, serve } from './service.js';

describe.each(EXPRESS)('Express $major', ({ driver }) => {
  stores(driver);
});

describe.each(EXPRESS)('Express $major', ({ express }) => {
  it('hands on within the same call when the store answers at once', async () => {
    const limit = rateLimit({ name: 'now', limit: 1, window: '1h' });
    const guard = spillway(limit, { store: memoryStore() });
    const app = express();
    const calls: string[] = [];
    app.use((req, res, next) => {
      guard(req, res, () => calls.push('next'));
      calls.push('returned');
      next();
    });
    await (await serve(app)).get();
    expect(calls).toEqual(['next', 'returned']);
  });

  it('is typed for the request of Express', () => {
    const limiter = rateLimit({ limit: 1, window: '1s', key: ({ raw }) => raw.get('x-api-key') });
    const onRejected = (_: unknown, _req: Request, res: Response) => void res.sendStatus(429);
    expect(spillway([limiter], { onRejected })).toHaveLength(3);
  });
});
