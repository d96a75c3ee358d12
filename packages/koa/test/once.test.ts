/** Idempotency keys on both majors of Koa. */

import { once } from 'node:events';
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { claimOf, idempotency, rateLimit, spillway } from '@spillway/koa';
import type { Context, Middleware } from 'koa';
import compress from 'koa-compress';
import { until } from 'spillway-testkit';
import {
  askAt,
  latch,
  type OnceWorld,
  repeats,
  repeatsAfterDepartures,
  repeatsRewritten,
  repeatsUncompressed,
} from 'spillway-testkit/adapters';
import { serveListener } from 'spillway-testkit/http';
import { describe, expect, it } from 'vitest';
import { KOA, serve } from './service.js';

type Factory = (typeof KOA)[number]['Koa'];

/** Parses JSON as the usual parsers do. */
const parse: Middleware = async (ctx, next) => {
  const request = ctx.request as { body?: unknown };
  if (request.body === undefined) {
    let text = '';
    for await (const chunk of ctx.req) text += String(chunk);
    request.body = JSON.parse(text || 'null');
  }
  await next();
};

function begun(): Readable {
  const stream = new PassThrough();
  stream.write('do');
  return stream;
}

function endless(): ReadableStream {
  return new ReadableStream({
    async pull(to) {
      await new Promise(setImmediate); // a reader that never stops shall fail the test, not hang it
      to.enqueue(new Uint8Array(10_000));
    },
  });
}

function worldOf(Koa: Factory): OnceWorld {
  return {
    idempotency: idempotency as OnceWorld['idempotency'],
    rateLimit: rateLimit as OnceWorld['rateLimit'],
    compressions: ['before', 'behind'],
    parsers: [true, false],
    async serve({ limiters, compression, parses, rewrite, handle }) {
      const app = new Koa();
      app.silent = true;
      if (rewrite) {
        app.use((ctx, next) => {
          ctx.url = rewrite(ctx.url);
          return next();
        });
      }
      if (compression === 'before') app.use(compress());
      if (parses) app.use(parse);
      app.use(spillway(limiters));
      if (compression === 'behind') app.use(compress());
      app.use(parse);
      app.use(async (ctx) => {
        const read = async () => (ctx.request as { body?: unknown }).body;
        const answer = await handle({ path: ctx.path, claim: claimOf(ctx), read });
        const { status, headers = {}, body, json } = answer;
        if (status !== undefined) ctx.status = status;
        ctx.set(headers);
        if (status !== 204)
          ctx.body = json ?? (body instanceof Uint8Array ? Buffer.from(body) : body);
      });
      return askAt((await serve(app)).port);
    },
  };
}

describe.each(KOA)('Koa $major', ({ Koa }) => {
  const world = worldOf(Koa);
  repeats(world);
  repeatsUncompressed(world);
  repeatsAfterDepartures(world);
  repeatsRewritten(world);

  it.each<[string, (ctx: Context) => unknown]>([
    ['no body, which is 404', () => undefined],
    ['a status alone', (ctx) => Object.assign(ctx, { status: 202 })],
    ['null', (ctx) => Object.assign(ctx, { body: null })],
    ['a number', (ctx) => Object.assign(ctx, { body: 5 })],
    ['a list', (ctx) => Object.assign(ctx, { body: [1, 2] })],
    [
      'a stream that is begun',
      (ctx) => {
        const stream = new PassThrough();
        stream.write('a');
        setImmediate(() => stream.end('b'));
        ctx.body = stream;
      },
    ],
    ['an HTTP error', (ctx) => ctx.throw(402, 'no money')],
    [
      'an error with fields of its own',
      (ctx) => ctx.throw(402, 'no', { headers: { location: '/pay' } }),
    ],
    [
      'a response that is written by hand',
      (ctx) => {
        ctx.respond = false;
        ctx.res.writeHead(202, { 'Content-Type': 'text/own' });
        ctx.res.end('by hand');
      },
    ],
    [
      'a body of middleware behind the guard',
      async (ctx) => {
        await Promise.resolve();
        ctx.body = Readable.from([Buffer.from('late')]);
      },
    ],
  ])('keeps %s', async (_, answer) => {
    const app = new Koa();
    app.silent = true;
    let runs = 0;
    app.use(spillway(idempotency({ scope: () => 'ada' })));
    app.use((ctx) => {
      runs += 1;
      return answer(ctx) as undefined;
    });
    const { ask } = askAt((await serve(app)).port);
    const first = await ask();
    const again = await ask();
    expect([again.status, String(again.bytes), runs]).toEqual([
      first.status,
      String(first.bytes),
      1,
    ]);
    expect(again.headers['idempotency-replayed']).toBe('true');
    for (const name of ['content-type', 'location']) {
      expect([name, again.headers[name]]).toEqual([name, first.headers[name]]);
    }
  });

  it.each<[string, unknown, string?]>([
    ['JSON', { a: 1, 7: 'seven', text: 'é' }],
    ['JSON of another type', { a: 1 }, 'application/problem+json'],
    ['a text', 'hello é'],
    ['a text that is no JSON, called JSON', '{"b":1,  "a":2}', 'application/json'],
    ['bytes', Buffer.from([0, 255])],
    ['bytes that are no text, called so', Buffer.from([0, 255]), 'text/plain'],
    ['a view of bytes, of which Koa makes JSON', new Uint8Array([1, 2])],
  ])('gives middleware in front of the guard %s as the handler gave it', async (_, body, type) => {
    const app = new Koa();
    app.use(async (ctx, next) => {
      await next();
      if (typeof ctx.body === 'string') ctx.body = ctx.body.toUpperCase();
      else if (!Buffer.isBuffer(ctx.body)) ctx.body = { data: ctx.body };
    });
    app.use(spillway(idempotency({ scope: () => 'ada' })));
    app.use((ctx) => {
      ctx.body = body;
      if (type) ctx.type = type;
    });
    const { ask } = askAt((await serve(app)).port);
    const first = await ask();
    const again = await ask();
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(String(again.bytes)).toBe(String(first.bytes));
    expect(again.headers['content-type']).toBe(first.headers['content-type']);
  });

  it.each<[string, object, boolean?]>([
    ['a status', { status: 409 }],
    ['a status code', { statusCode: 422 }],
    ['no status, but a code', { status: 0, statusCode: 404 }],
    ['two', { status: 410, statusCode: 404 }],
    ['a status of a redirection', { status: 302 }],
    ['a status that HTTP does not have', { status: 499 }],
    ['none', {}],
    ['a status, but is no error', { status: 404 }, false],
  ])(
    'keeps the status that Koa finds in what was thrown, though the client has gone: %s',
    async (_, fields, isError = true) => {
      const app = new Koa();
      app.silent = true;
      const finish = latch();
      const arrived = latch();
      const departed = latch();
      app.use(spillway(idempotency({ scope: () => 'ada' })));
      app.use(async (ctx) => {
        if (ctx.get('idempotency-key') === 'gone') {
          ctx.res.once('close', departed.open);
          arrived.open();
          await finish.opened;
        }
        throw isError ? Object.assign(new Error(), fields) : fields; // a new one each time: Koa writes its status to it
      });
      const { ask, open } = askAt((await serve(app)).port);
      const there = await ask({ key: 'there' });
      const client = (open as NonNullable<typeof open>)({ key: 'gone' });
      client.on('error', () => undefined);
      await arrived.opened;
      client.destroy();
      await departed.opened;
      finish.open();
      let again = there;
      await until(async () => {
        again = await ask({ key: 'gone' });
        return again.headers['idempotency-replayed'] === 'true';
      });
      expect(again.status).toBe(there.status);
    },
  );

  const bodies: [string, () => unknown, number, string?][] = [
    ['a stream of Node, which Koa destroys', begun, 409],
    ['an endless stream of the web', endless, 409],
    ['a stream of the web', () => new Response('done').body, 201, 'done'],
    ['a Response', () => new Response('done', { status: 201 }), 201, 'done'],
    ['an empty Response', () => new Response(null, { status: 201 }), 201, ''],
    ['a Blob', () => new Blob(['done']), 201, 'done'],
  ];
  const isNodes = (body: unknown): boolean => body instanceof Readable;
  it.each(bodies.filter(([, body]) => Koa === KOA[0].Koa || isNodes(body())))(
    'runs a handler once whose client has gone, and whose body is %s',
    async (_, bodyOf, status, text) => {
      const app = new Koa();
      const errors: unknown[] = [];
      app.on('error', (error) => errors.push(error));
      const finish = latch();
      const arrived = latch();
      const departed = latch();
      let runs = 0;
      app.use(spillway(idempotency({ scope: () => 'ada' })));
      app.use(async (ctx) => {
        runs += 1;
        ctx.res.once('close', departed.open);
        arrived.open();
        await finish.opened;
        ctx.status = 201;
        ctx.set('Location', '/charges/17');
        ctx.body = bodyOf();
      });
      const { ask, open } = askAt((await serve(app)).port);
      const client = (open as NonNullable<typeof open>)();
      client.on('error', () => undefined);
      await arrived.opened;
      client.destroy();
      await departed.opened;
      finish.open();
      let again = await ask();
      await until(async () => {
        again = await ask();
        return again.headers['retry-after'] === undefined;
      });
      expect([again.status, again.headers['location'], runs]).toEqual([status, '/charges/17', 1]);
      if (text !== undefined) expect(String(again.bytes)).toBe(text);
      expect(errors).toEqual([]);
    },
  );

  it.each<[string, (ctx: Context, leave: () => Promise<void>) => unknown]>([
    [
      'writes to the response of Node',
      async (ctx, leave) => {
        ctx.res.statusCode = 201;
        ctx.res.write('do');
        await leave();
      },
    ],
    [
      'fails after it has written to the response of Node',
      async (ctx, leave) => {
        ctx.res.statusCode = 201;
        ctx.res.write('do');
        void leave();
        throw new Error('failed');
      },
    ],
    [
      'has a stream as its body, which Koa no longer sends',
      (ctx, leave) => {
        ctx.status = 201;
        ctx.body = begun();
        ctx.state['after'] = leave;
      },
    ],
  ])('runs a handler once that returned without an end, its client gone: it %s', async (_, own) => {
    const app = new Koa();
    app.silent = true;
    let runs = 0;
    app.use(async (ctx, next) => {
      await next();
      await (ctx.state['after'] as (() => unknown) | undefined)?.();
    });
    app.use(spillway(idempotency({ scope: () => 'ada' })));
    let client: ClientRequest | undefined;
    app.use(async (ctx) => {
      runs += 1;
      const closed = once(ctx.res, 'close');
      ctx.set('Location', '/charges/17');
      await own(ctx, async () => {
        client?.destroy();
        await closed;
      });
    });
    const { ask, open } = askAt((await serve(app)).port);
    client = open?.();
    client?.on('error', () => undefined);
    await until(() => runs === 1);
    let again = await ask();
    await until(async () => {
      again = await ask();
      return again.headers['retry-after'] === undefined;
    });
    expect([again.status, again.headers['location'], runs]).toEqual([409, '/charges/17', 1]);
  });

  it('compares the path as the client sent it, also where the app is mounted in another framework', async () => {
    const app = new Koa();
    app.use(spillway(idempotency({ scope: () => 'ada' })));
    app.use((ctx) => {
      ctx.body = ctx.path;
    });
    const handle = app.callback();
    // What Express, connect and middie do to the URL where an app is mounted.
    const mounted = (req: IncomingMessage & { originalUrl?: string }, res: ServerResponse) => {
      const target = req.url ?? '/';
      req.originalUrl = target;
      req.url = target.replace(/^\/(ada|bob)/, '');
      void handle(req, res);
    };
    const { port } = await serveListener(mounted);
    const { ask } = askAt(port);
    expect(String((await ask({ path: '/ada/pay' })).bytes)).toBe('/pay');
    expect((await ask({ path: '/bob/pay' })).status).toBe(422);
  });

  it('asks no own answer to a refusal about a repeat, and shows the repeat to middleware in front', async () => {
    const app = new Koa();
    const seen: unknown[] = [];
    app.use(async (ctx, next) => {
      await next();
      seen.push([ctx.status, String(ctx.body)]);
    });
    const onRejected = () => seen.push('asked');
    app.use(spillway(idempotency({ scope: () => 'ada' }), { onRejected }));
    app.use((ctx) => {
      ctx.body = 'hello';
    });
    const { ask } = askAt((await serve(app)).port);
    await ask();
    expect(String((await ask()).bytes)).toBe('hello');
    expect(seen).toEqual([
      [200, 'hello'],
      [200, 'hello'],
    ]);
  });
});
