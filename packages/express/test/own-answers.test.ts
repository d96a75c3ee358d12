/** The app's own answers in Express: `next` has many meanings there, and a callback may answer at any time. */

import { fileURLToPath } from 'node:url';
import { type Fault, rateLimit, type SpillwayOptions, spillway } from '@spillway/express';
import type { NextFunction, Request, Response } from 'express';
import { latch } from 'spillway-testkit/adapters';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { EXPRESS, serve } from './service.js';

type OwnAnswer = (res: Response, next: NextFunction) => unknown;

describe.each(EXPRESS)('an own answer in Express $major', ({ express }) => {
  const refusing = async (own: OwnAnswer, options: SpillwayOptions = {}) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const faults: string[] = [];
    const ran: string[] = [];
    const asked = latch();
    const onFault = ({ error }: Fault) => void faults.push((error as Error).message);
    const onRejected: SpillwayOptions['onRejected'] = (_admission, _req, res, next) => {
      asked.open();
      return own(res, next);
    };
    const limiter = rateLimit({ limit: 1, window: '1h', cost: () => 2 });
    const app = express();
    app.set('env', 'test');
    const handler = (req: Request, res: Response) => {
      ran.push(req.path);
      res.end('secret');
    };
    app.get('/', spillway(limiter, { onFault, onRejected, ...options }), handler);
    app.get('/', handler);
    const errors: string[] = [];
    app.use((error: Error, _req: Request, res: Response, _next: NextFunction) => {
      errors.push(error.message);
      if (!res.headersSent) res.send(error.message);
      else res.end();
    });
    return { ...(await serve(app)), faults, errors, ran, asked: asked.opened };
  };

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ["'route'", 'route'],
    ["'router'", 'router'],
  ])('gets no further by next(%s)', async (_, argument) => {
    const { get, faults, ran } = await refusing((_res, next) => next(argument));
    expect(await get()).toMatchObject({
      status: 429,
      headers: { 'content-type': 'application/problem+json' },
    });
    expect(ran).toEqual([]);
    expect(faults).toEqual([expect.stringContaining('onRejected called next()')]);
  });

  it.each<[string, OwnAnswer]>([
    ['at once', (_res, next) => next(new Error('mine'))],
    ['later', (_res, next) => void setImmediate(() => next(new Error('mine')))],
    [
      'in a promise that never ends',
      (_res, next) => {
        setImmediate(() => next(new Error('mine')));
        return new Promise(() => undefined);
      },
    ],
  ])('is a 500 of the error handler by next(error) %s', async (_, own) => {
    const { get, faults, ran } = await refusing(own);
    expect(await get()).toMatchObject({ status: 500, body: 'mine' });
    expect(ran).toEqual([]);
    expect(faults).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('stays as it is where next() follows it', async () => {
    const { get, faults, ran } = await refusing((res, next) => {
      res.json({ sorry: true });
      next();
    });
    expect(await get()).toMatchObject({ status: 429, body: '{"sorry":true}' });
    expect(ran).toEqual([]);
    expect(faults).toEqual([expect.stringContaining('onRejected called next()')]);
  });

  it.each<[string, OwnAnswer]>([
    ['sends a file', (res) => res.sendFile(fileURLToPath(import.meta.url))],
    ['sends a file, async', async (res) => res.sendFile(fileURLToPath(import.meta.url))],
  ])('may be there only after its function has ended, as when it %s', async (_, own) => {
    const { get, faults } = await refusing(own);
    const { status, body } = await get();
    expect(status).toBe(429);
    expect(body).toContain('may be there only after its function has ended');
    expect(faults).toEqual([]);
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(0));
  });

  it('may take as long as it likes once it has begun', async () => {
    let end = (): unknown => undefined;
    const { get, asked, faults } = await refusing((res) => {
      res.write('slow ');
      end = () => res.end('body');
      return new Promise(() => undefined);
    });
    const reply = get();
    await asked;
    await vi.advanceTimersByTimeAsync(60_000);
    end();
    expect(await reply).toMatchObject({ status: 429, body: 'slow body' });
    expect(faults).toEqual([]);
  });

  it('hands on an error that comes after it has begun', async () => {
    let fail = (): void => undefined;
    const { get, asked, errors, faults } = await refusing((res, next) => {
      res.write('half');
      fail = () => next(new Error('cut'));
    });
    const reply = get();
    await asked;
    await vi.advanceTimersByTimeAsync(60_000);
    fail();
    expect(await reply).toMatchObject({ status: 429, body: 'half' });
    expect(errors).toEqual(['cut']);
    expect(faults).toEqual([]);
  });

  it.each<[string, OwnAnswer]>([
    ['res.json', (res) => res.json({ too: 'late' })],
    ['res.redirect', (res) => res.redirect('/busy')],
    ['res.sendFile', (res) => res.sendFile(fileURLToPath(import.meta.url))],
    ['res.writeHead', (res) => res.writeHead(200, { a: 'b' }).end('too late')],
    ['res.write', (res) => res.write('too late') && res.end()],
    ['next()', (_res, next) => next()],
    ['next(error)', (_res, next) => next(new Error('too late'))],
  ])('ends no process by %s in a callback after 10 s', async (_, own) => {
    const called = latch();
    const { get, asked, ran } = await refusing((res, next) => {
      setTimeout(() => {
        own(res, next);
        called.open();
      }, 10_001);
    });
    const reply = get();
    await asked;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await reply).toMatchObject({
      status: 429,
      headers: { 'content-type': 'application/problem+json' },
    });
    await vi.advanceTimersByTimeAsync(1);
    await called.opened;
    await new Promise(setImmediate);
    expect(ran).toEqual([]);
  });

  it.each<[string, OwnAnswer]>([
    ['a callback', () => undefined],
    ['a promise', () => new Promise(() => undefined)],
  ])('leaves no timer where its client leaves before %s answers', async (_, own) => {
    const { open, asked, faults } = await refusing(own);
    const request = open().on('error', () => undefined);
    request.end();
    await asked;
    await new Promise(setImmediate);
    expect(vi.getTimerCount()).toBe(1);
    request.destroy();
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(0));
    expect(faults).toEqual([]);
  });

  it('is not asked for in shadow mode', async () => {
    let asked = 0;
    const { get, ran } = await refusing(() => (asked += 1), { mode: 'shadow' });
    expect(await get()).toMatchObject({ status: 200, body: 'secret' });
    expect([ran, asked]).toEqual([['/'], 0]);
  });
});
