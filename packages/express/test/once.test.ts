/** Idempotency keys on both majors of Express. */

import { pipeline, Readable } from 'node:stream';
import { claimOf, idempotency, rateLimit, spillway } from '@spillway/express';
import compression from 'compression';
import type { Request, RequestHandler, Response } from 'express';
import {
  askAt,
  type OnceAnswer,
  type OnceWorld,
  repeats,
  repeatsAfterDepartures,
  repeatsRewritten,
  repeatsUncompressed,
} from 'spillway-testkit/adapters';
import { describe, expect, it } from 'vitest';
import { EXPRESS, serve } from './service.js';

type Factory = (typeof EXPRESS)[number]['express'];

function worldOf(express: Factory): OnceWorld {
  return {
    idempotency: idempotency as OnceWorld['idempotency'],
    rateLimit: rateLimit as OnceWorld['rateLimit'],
    compressions: ['before', 'behind'],
    parsers: [true, false],
    async serve({ limiters, compression: place, parses, rewrite, handle }) {
      const app = express();
      app.set('env', 'test'); // Express' own error handler prints nothing
      if (rewrite) {
        app.use(((req, _res, next) => {
          req.url = rewrite(req.url);
          next();
        }) as RequestHandler);
      }
      if (place === 'before') app.use(compression());
      if (parses) app.use(express.json());
      app.use(spillway(limiters));
      if (place === 'behind') app.use(compression());
      app.use(express.json());
      app.use(((req, res, next) => {
        const read = async () => req.body;
        handle({ path: req.path, claim: claimOf(req), read }).then((it) => send(it, res), next);
      }) as RequestHandler);
      const { port } = await serve(app);
      return askAt(port);
    },
  };
}

function send({ status = 200, headers = {}, body, json }: OnceAnswer, res: Response): void {
  res.status(status).set(headers);
  if (json) res.json(json);
  else if (body instanceof Readable) pipeline(body, res, () => undefined);
  else if (body instanceof Uint8Array) res.send(Buffer.from(body));
  else if (body === undefined) res.end();
  else res.send(body);
}

describe.each(EXPRESS)('Express $major', ({ express }) => {
  const world = worldOf(express);
  repeats(world);
  repeatsUncompressed(world);
  repeatsAfterDepartures(world);
  repeatsRewritten(world);

  it.each<[string, (req: Request, res: Response) => unknown]>([
    [
      'res.write and res.end, in encodings',
      (_, res) => res.write('YQ==', 'base64') && res.end('62', 'hex'),
    ],
    ['res.end of bytes', (_, res) => res.type('text').end(Buffer.from('ab'))],
    ['res.jsonp', (_, res) => res.jsonp({ a: 1 })],
    [
      'a response that is flushed first',
      (_, res) => {
        res.flushHeaders();
        res.end('ab');
      },
    ],
  ])('keeps what is sent by %s', async (_, answer) => {
    const app = express();
    let runs = 0;
    app.post('/charges', spillway(idempotency({ scope: () => 'ada' })), (req, res) => {
      runs += 1;
      answer(req as Request, res as Response);
    });
    const { ask } = askAt((await serve(app)).port);
    const first = await ask();
    const again = await ask();
    expect([again.status, String(again.bytes), runs]).toEqual([
      first.status,
      String(first.bytes),
      1,
    ]);
    for (const name of ['content-type', 'location', 'etag', 'vary']) {
      expect([name, again.headers[name]]).toEqual([name, first.headers[name]]);
    }
  });
});
