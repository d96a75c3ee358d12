/** From the admission to the close of the response: released once, whatever happened. */

import { once } from 'node:events';
import { rateLimit, spillway } from '@spillway/express';
import type { ErrorRequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { noting } from './noting.js';
import { EXPRESS, serve, until } from './service.js';

const answerError: ErrorRequestHandler = (error, _req, res, _next) => {
  res.status(500).end(error.message);
};

describe.each(EXPRESS)('Express $major', ({ express, major }) => {
  it('lets a stream through as it is written, and releases at its end', async () => {
    const { outcomes, guard } = noting();
    const app = express();
    app.get('/', guard, (_req, res) => {
      res.write('one ');
      setTimeout(() => res.end('two'), 20);
      expect(outcomes).toEqual([]);
    });
    const { get } = await serve(app);
    expect((await get()).body).toBe('one two');
    await until(() => outcomes.length > 0);
    expect(outcomes).toEqual([{ status: 200, aborted: false }]);
  });

  it('releases when a handler throws', async () => {
    const { outcomes, guard } = noting();
    const app = express();
    app.get('/now', guard, () => {
      throw new Error('thrown');
    });
    app.get('/later', guard, async (_req, _res, next) => {
      await Promise.resolve();
      if (major === 4)
        next(new Error('rejected')); // 4 does not look at promises
      else throw new Error('rejected');
    });
    app.use(answerError);
    const { get } = await serve(app);
    expect(await get('/now')).toMatchObject({ status: 500, body: 'thrown' });
    expect(await get('/later')).toMatchObject({ status: 500, body: 'rejected' });
    await until(() => outcomes.length === 2);
    expect(outcomes).toEqual([
      { status: 500, aborted: false },
      { status: 500, aborted: false },
    ]);
  });

  it('releases once when the client goes away before the answer, which then has no status', async () => {
    const { outcomes, guard } = noting();
    const app = express();
    let finish: () => void = () => undefined;
    app.get('/', guard, (_req, res) => {
      finish = () => res.end('too late');
      client.destroy();
    });
    const { open } = await serve(app);
    const client = open().on('error', () => undefined);
    client.end();
    await until(() => outcomes.length > 0);
    finish();
    await new Promise(setImmediate);
    expect(outcomes).toEqual([{ aborted: true }]);
  });

  it('releases when the client goes away in the middle of a stream', async () => {
    const { outcomes, guard } = noting();
    const app = express();
    app.get('/', guard, (_req, res) => {
      res.write('begun');
    });
    const { open } = await serve(app);
    const client = open().on('error', () => undefined);
    client.end();
    const [response] = await once(client, 'response');
    response.on('error', () => undefined);
    client.destroy();
    await until(() => outcomes.length > 0);
    expect(outcomes).toEqual([{ status: 200, aborted: true }]);
  });

  it('releases when the handler destroys the response', async () => {
    const { outcomes, guard } = noting();
    const app = express();
    app.get('/', guard, (_req, res) => {
      res.destroy();
    });
    const { get } = await serve(app);
    await expect(get()).rejects.toThrow('socket hang up');
    await until(() => outcomes.length > 0);
    expect(outcomes).toEqual([{ aborted: true }]);
  });

  it('counts failures only, where the app says what a success is', async () => {
    const app = express();
    const limiter = rateLimit({
      limit: 2,
      window: '1h',
      refundIf: ({ status, aborted }) => status === 200 && !aborted,
    });
    app.get('/:status', spillway(limiter), (req, res) => {
      res.status(Number(req.params['status'])).end();
    });
    const { get } = await serve(app);
    const statuses: number[] = [];
    for (const path of ['/200', '/200', '/200', '/401', '/200', '/401', '/401', '/200']) {
      statuses.push((await get(path)).status);
      await new Promise(setImmediate);
    }
    expect(statuses).toEqual([200, 200, 200, 401, 200, 401, 429, 429]);
  });

  it('does not watch a response when there is nothing to give back', async () => {
    const app = express();
    let listeners = [-1, -1];
    app.use((_req, res, next) => {
      listeners = [res.listenerCount('close'), -1];
      next();
    });
    app.use(spillway(rateLimit({ limit: 5, window: '1h' })));
    app.use((_req, res) => {
      listeners[1] = res.listenerCount('close');
      res.end();
    });
    await (await serve(app)).get();
    expect(listeners[1]).toBe(listeners[0]);
  });

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
