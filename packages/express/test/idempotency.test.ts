/** Idempotency keys on both majors of Express: however a handler answers, a repeat gets the same response. */

import { claimOf, idempotency, rateLimit, spillway } from '@spillway/express';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { describe, expect, it } from 'vitest';
import { EXPRESS, serve } from './service.js';

const account = ({ raw }: { raw: Request }) => raw.get('x-account') ?? 'ada';

const WAYS: readonly (readonly [string, RequestHandler])[] = [
  ['res.json', (_req, res) => void res.status(201).json({ b: 1, a: [2] })],
  ['res.send of a text', (_req, res) => void res.send('text')],
  ['res.send of bytes', (_req, res) => void res.type('bin').send(Buffer.from([0, 255, 128]))],
  [
    'res.write and res.end',
    (_req, res) => {
      res.set('Location', '/charges/1');
      res.write('a');
      res.end('b');
    },
  ],
  ['res.sendStatus', (_req, res) => void res.sendStatus(202)],
  ['204', (_req, res) => void res.status(204).end()],
  ['res.redirect', (_req, res) => res.redirect(303, '/charges/1')],
  [
    'an error that is thrown',
    () => {
      throw new Error('sync');
    },
  ],
  ['an error that is passed on', (_req, _res, next) => next(new Error('passed'))],
  ['no route', (_req, _res, next) => next()],
];

describe.each(EXPRESS)('Express $major', ({ major, express }) => {
  async function setUp(handler: RequestHandler, parser: 'before' | 'after' | 'none' = 'after') {
    let runs = 0;
    const app = express();
    app.set('env', 'test');
    const guard = spillway([
      idempotency({ scope: account }),
      rateLimit({ name: 'charges', limit: 100, window: '1m', key: account }),
    ]);
    if (parser === 'before') app.use(express.json());
    app.use('/v1', guard);
    if (parser === 'after') app.use(express.json());
    app.use('/v1/charges', (req, res, next) => {
      runs += 1;
      return handler(req, res, next);
    });
    app.use((error: Error, _req: Request, res: Response, _next: NextFunction) => {
      res.status(500).json({ error: error.message });
    });
    const { port } = await serve(app);
    const post = async (key: string, body = '{"amount":5}', path = '/v1/charges') => {
      const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': key };
      const init = { method: 'POST', body, headers, redirect: 'manual' } as const;
      const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
      const { status } = response;
      const fields = ['content-type', 'location', 'etag'].map((name) => response.headers.get(name));
      const bytes = Buffer.from(await response.arrayBuffer()).toString('hex');
      const isRepeat = response.headers.get('idempotency-replayed') === 'true';
      return {
        seen: { status, fields, bytes },
        isRepeat,
        limit: response.headers.get('ratelimit'),
      };
    };
    return { post, runs: () => runs };
  }

  it.each(WAYS)('answers again what came by %s', async (_, handler) => {
    const { post, runs } = await setUp(handler);
    const first = await post('key-1');
    const again = await post('key-1');
    expect(again.seen).toEqual(first.seen);
    expect([first.isRepeat, again.isRepeat, runs()]).toEqual([false, true, 1]);
    expect(again.limit).toMatch(/;r=99;/); // charged once
  });

  it.each(major === 5 ? ['async'] : [])('answers again an error of an %s handler', async () => {
    const { post, runs } = await setUp(async () => {
      throw new Error('async');
    });
    const first = await post('key-1');
    expect(first.seen.status).toBe(500);
    expect(await post('key-1')).toMatchObject({ seen: first.seen, isRepeat: true });
    expect(runs()).toBe(1);
  });

  it.each(['before', 'after'] as const)('compares bodies with a parser %s it', async (parser) => {
    const { post } = await setUp((req, res) => void res.json(req.body), parser);
    await post('key-1');
    expect((await post('key-1')).isRepeat).toBe(true);
    expect((await post('key-1', '{"amount":6}')).seen.status).toBe(422);
    expect((await post('key-1', '{"amount":5}', '/v1/charges/2')).seen.status).toBe(422);
    expect((await post('key-1', '{"amount":5}', '/v1/charges?dry=1')).seen.status).toBe(422);
    // The same JSON with other white space: another body by its bytes, the same body once it is parsed.
    const spaced = await post('key-1', '{ "amount": 5 }');
    expect(spaced.seen.status).toBe(parser === 'before' ? 200 : 422);
  });

  it('gives handlers their claim', async () => {
    const { post } = await setUp((req, res) => void res.json(claimOf(req)?.key ?? 'none'));
    const { seen } = await post('key-1');
    expect(Buffer.from(seen.bytes, 'hex').toString()).toBe('"key-1"');
  });
});
