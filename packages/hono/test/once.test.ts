/** Idempotency keys in Hono, over node:http and over fetch. */

import { Readable } from 'node:stream';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { remoteStore } from '@spillway/core/store';
import { claimOf, idempotency, memoryStore, rateLimit, spillway } from '@spillway/hono';
import { type Context, Hono } from 'hono';
import { compress } from 'hono/compress';
import { HTTPException } from 'hono/http-exception';
import { stream } from 'hono/streaming';
import { until } from 'spillway-testkit';
import {
  askAt,
  askFetch,
  latch,
  type OnceWorld,
  repeats,
  repeatsAfterDepartures,
  repeatsUncompressed,
} from 'spillway-testkit/adapters';
import { serveListener } from 'spillway-testkit/http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listen } from './service.js';

const WAYS = [
  ['node:http', async (app: Hono) => askAt((await listen(app)).port)],
  ['fetch', async (app: Hono) => askFetch((request) => app.fetch(request))],
] as const;

function worldOf(serve: (typeof WAYS)[number][1]): OnceWorld {
  return {
    idempotency: idempotency as never as OnceWorld['idempotency'],
    rateLimit: rateLimit as never as OnceWorld['rateLimit'],
    compressions: ['before', 'behind'],
    parsers: [true, false],
    serve({ limiters, compression, parses, handle }) {
      const app = new Hono();
      if (compression === 'before') app.use(compress());
      if (parses) {
        app.use(async (c, next) => {
          await c.req.json();
          await next();
        });
      }
      app.use(spillway(limiters));
      if (compression === 'behind') app.use(compress());
      app.onError((error, c) => c.text(error.message, 500));
      // Hono answers HEAD with the handler of GET.
      app.on(['GET', 'POST'], '*', async (c) => {
        const read = () => c.req.json();
        const answer = await handle({ path: c.req.path, claim: claimOf(c), read });
        const { status = 200, headers = {}, body, json } = answer;
        for (const [name, value] of Object.entries(headers)) c.header(name, value);
        if (json) return c.json(json, status as 200);
        if (body instanceof Readable)
          return c.body(Readable.toWeb(body) as ReadableStream, status as 200);
        if (body instanceof Uint8Array) return c.body(Uint8Array.from(body));
        return body === undefined ? c.body(null, status as 204) : c.text(body, status as 200);
      });
      return serve(app);
    },
  };
}

describe.each(WAYS)('Hono over %s', (way, serve) => {
  const world = worldOf(serve);
  repeats(world);
  repeatsUncompressed(world);
  if (way === 'node:http') repeatsAfterDepartures(world);

  it.each<[string, (c: Context) => Response | Promise<Response>]>([
    ['c.html', (c) => c.html('<p>')],
    ['a Response', () => new Response('own', { status: 202, headers: { location: '/1' } })],
    [
      'a stream that is written',
      (c) =>
        stream(c, async (out) => {
          await out.write('a ');
          await out.write('stream');
        }),
    ],
    ['c.notFound', (c) => c.notFound()],
    ['c.redirect', (c) => c.redirect('/charges/1', 303)],
    [
      'an HTTPException',
      () => {
        throw new HTTPException(402, { message: 'no money' });
      },
    ],
  ])('keeps %s', async (_, answer) => {
    const app = new Hono();
    let runs = 0;
    app.post('/charges', spillway(idempotency({ scope: () => 'ada' })), (c) => {
      runs += 1;
      return answer(c);
    });
    const { ask } = await serve(app);
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

  it.each<[string, (c: Context) => Promise<unknown>, boolean]>([
    ['json', (c) => c.req.json(), true],
    ['text', (c) => c.req.text(), true],
    ['arrayBuffer', (c) => c.req.arrayBuffer(), true],
    // The bytes of a form are not kept, so only the lengths are compared.
    ['formData', (c) => c.req.formData(), false],
  ])('compares a body that was read by %s in front of the guard', async (method, read, isExact) => {
    const app = new Hono();
    app.use(async (c, next) => {
      await read(c);
      await next();
    });
    app.use(spillway(idempotency({ scope: () => 'ada' })));
    app.post('/charges', (c) => c.text('ok'));
    const { ask } = await serve(app);
    const type = 'application/x-www-form-urlencoded';
    const headers = method === 'formData' ? { 'content-type': type } : {};
    expect((await ask({ body: '{"a":1}', headers })).status).toBe(200);
    expect((await ask({ body: '{"a":1}', headers })).status).toBe(200);
    expect((await ask({ body: '{"a":2}', headers })).status).toBe(isExact ? 422 : 200);
    expect((await ask({ body: '{"a":10}', headers })).status).toBe(422);
  });

  it('asks no own answer to a refusal about a repeat, and shows the repeat to middleware in front', async () => {
    const app = new Hono();
    const seen: unknown[] = [];
    app.use(async (c, next) => {
      await next();
      seen.push(c.res.status);
      c.header('x-front', 'yes');
    });
    const onRejected = () => seen.push('asked');
    app.use(spillway(idempotency({ scope: () => 'ada' }), { onRejected }));
    app.post('/charges', (c) => c.text('ok', 201));
    const { ask } = await serve(app);
    await ask();
    expect((await ask()).headers['x-front']).toBe('yes');
    expect(seen).toEqual([201, 201]);
  });

  it('lets middleware in front give a repeat another body, as it gives the first answer one', async () => {
    const app = new Hono();
    app.use(async (c, next) => {
      await next();
      const data = await c.res.text();
      c.res = new Response(`<${data}>`, c.res);
    });
    app.use(spillway(idempotency({ scope: () => 'ada' })));
    app.post('/charges', (c) => c.text('ok'));
    const { ask } = await serve(app);
    await ask();
    const again = await ask();
    expect([String(again.bytes), again.headers['idempotency-replayed']]).toEqual(['<ok>', 'true']);
    expect(['4', undefined]).toContain(again.headers['content-length']);
  });

  it('may end a response only when its answer is kept', async () => {
    const store = memoryStore();
    const { set } = store.values;
    let write: (() => void) | undefined;
    store.values.set = (...args) => {
      set.apply(store.values, args);
      return new Promise<void>((resolve) => {
        write = resolve;
      });
    };
    const app = new Hono();
    app.use(spillway(idempotency({ scope: () => 'ada', keepFirst: true }), { store }));
    app.post('/charges', (c) => c.body(null, 204));
    const { ask } = await serve(app);
    const told: string[] = [];
    const first = ask().then(({ status }) => told.push(`answered ${status}`));
    await until(() => write !== undefined);
    for (const _ of [1, 2, 3]) await new Promise(setImmediate);
    told.push('kept');
    write?.();
    await first;
    expect(told).toEqual(['kept', 'answered 204']);
    expect((await ask()).headers['idempotency-replayed']).toBe('true');
  });
});

it('keeps the type that the Response of @hono/node-server adds as it is sent', async () => {
  const { Request, Response } = globalThis;
  onTestFinished(() => void Object.assign(globalThis, { Request, Response }));
  const app = new Hono();
  const lightListener = getRequestListener(app.fetch); // replaces both globals
  app.use(spillway(idempotency({ scope: () => 'ada' })));
  app.post('/charges', () => {
    const image = new Blob(['x'], { type: 'image/png' });
    return new globalThis.Response(image, { headers: { location: '/1' } });
  });
  const { ask } = askAt((await serveListener(lightListener)).port);
  expect((await ask()).headers['content-type']).toBe('image/png');
  expect((await ask()).headers).toMatchObject({ 'content-type': 'image/png', location: '/1' });
});

it('keeps a stream of texts, which node:http sends', async () => {
  const app = new Hono();
  app.use(spillway(idempotency({ scope: () => 'ada' })));
  app.post('/charges', (c) => {
    const parts = new ReadableStream({
      start(controller) {
        for (const part of ['id=17;', 'ok \u00e9']) controller.enqueue(part);
        controller.close();
      },
    });
    return c.body(parts, 201);
  });
  const { ask } = askAt((await listen(app)).port);
  expect(String((await ask()).bytes)).toBe('id=17;ok \u00e9');
  const again = await ask();
  expect([again.status, String(again.bytes)]).toEqual([201, 'id=17;ok \u00e9']);
  expect(again.headers['idempotency-replayed']).toBe('true');
});

it('cannot see what a handler writes to the response of node:http: a repeat is told so', async () => {
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.use(spillway(idempotency({ scope: () => 'ada' })));
  app.post('/charges', (c) => {
    c.env.outgoing.writeHead(201);
    setImmediate(() => c.env.outgoing.end('by hand'));
    return RESPONSE_ALREADY_SENT;
  });
  const { ask } = askAt((await listen(app as unknown as Hono)).port);
  expect(String((await ask()).bytes)).toBe('by hand');
  expect((await ask()).status).toBe(409);
});

it('ends a claim if the client leaves a handler that writes to the response of node:http', async () => {
  const arrived = latch();
  const gone = latch();
  let runs = 0;
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.use(spillway(idempotency({ scope: () => 'ada' })));
  app.post('/charges', async (c) => {
    runs += 1;
    c.env.outgoing.on('close', gone.open);
    arrived.open();
    await gone.opened;
    c.env.outgoing.end('by hand');
    return RESPONSE_ALREADY_SENT;
  });
  const { ask, open } = askAt((await listen(app as unknown as Hono)).port);
  const client = (open as NonNullable<typeof open>)();
  client.on('error', () => undefined);
  await arrived.opened;
  client.destroy();
  await gone.opened;
  await until(async () => /not stored/.test(String((await ask()).bytes)));
  expect(runs).toBe(1);
});

describe('in shadow over node:http', () => {
  // docs/idempotency.md, "In each framework"
  it('changes at most the case and the order of header names, also while the store hangs', async () => {
    const never = () => new Promise<never>(() => undefined);
    const hangs = remoteStore({
      sync: false as const,
      apply: never,
      values: { get: never, set: never },
    });
    const shadow = idempotency({ scope: () => 'ada', mode: 'shadow' });
    const answers = [];
    for (const guard of [
      undefined,
      spillway(shadow),
      spillway(shadow, { store: hangs, storeTimeout: '1ms', logger: false }),
    ]) {
      const app = new Hono();
      if (guard) app.use(guard);
      app.post('/json', (c) => c.json({ paid: 5 }, 201, { 'X-Charge': '1' }));
      app.post('/text', (c) => c.text('paid'));
      app.post('/empty', (c) => c.body(null, 204));
      const { ask } = askAt((await listen(app)).port);
      const of = async (path: string) => {
        const { status, headers, bytes } = await ask({ path });
        const { date: _, ...others } = headers;
        return { status, headers: Object.entries(others).sort(), body: String(bytes) };
      };
      answers.push([await of('/json'), await of('/text'), await of('/empty'), await of('/none')]);
    }
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
  });
});
