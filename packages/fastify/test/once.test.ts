/** Idempotency keys on Fastify. */

import { once } from 'node:events';
import { Readable } from 'node:stream';
import compress from '@fastify/compress';
import { claimOf, idempotency, rateLimit, spillway } from '@spillway/fastify';
import type { FastifyReply } from 'fastify';
import { until } from 'spillway-testkit';
import {
  askAt,
  latch,
  type OnceWorld,
  repeats,
  repeatsAfterDepartures,
  repeatsRewritten,
} from 'spillway-testkit/adapters';
import { describe, expect, it } from 'vitest';
import { makeApp, serve } from './service.js';

const world: OnceWorld = {
  idempotency: idempotency as OnceWorld['idempotency'],
  rateLimit: rateLimit as OnceWorld['rateLimit'],
  compressions: ['before', 'behind'],
  parsers: [true, false],
  async serve({ limiters, compression, parses, rewrite, handle }) {
    const app = makeApp(rewrite && { rewriteUrl: ({ url }) => rewrite(url ?? '/') });
    if (compression === 'before') await app.register(compress, { threshold: 0 });
    // Fastify reads the body between these two hooks.
    app.register(spillway, { limiters, hook: parses ? 'preHandler' : 'onRequest' });
    if (compression === 'behind') await app.register(compress, { threshold: 0 });
    app.route({
      method: ['POST', 'HEAD'],
      url: '/*',
      handler: async (request, reply) => {
        const path = request.url;
        const read = async () => request.body;
        const answer = await handle({ path, claim: claimOf(request), read });
        const { status = 200, headers = {}, body, json } = answer;
        reply.code(status).headers(headers);
        return reply.send(json ?? (body instanceof Uint8Array ? Buffer.from(body) : body));
      },
    });
    return askAt((await serve(app)).port);
  },
};

repeats(world);
repeatsAfterDepartures(world);
repeatsRewritten(world);

function webStream(text: string): unknown {
  return new Response(text).body;
}

describe('an answer', () => {
  it.each<[string, (reply: FastifyReply) => unknown]>([
    ['is returned', () => ({ a: 1 })],
    ['is a text', (reply) => reply.send('text')],
    ['is a stream that is returned', () => Readable.from([Buffer.from('a'), Buffer.from('b')])],
    ['is a Response', () => new Response('web', { status: 202, headers: { 'x-own': '1' } })],
    [
      'is hijacked',
      (reply) => {
        reply.hijack();
        reply.raw.writeHead(202, { 'content-type': 'text/own' });
        reply.raw.write('by ');
        reply.raw.end('hand');
      },
    ],
    ['goes through a serializer', (reply) => reply.serializer(() => 'serialized').send({ a: 1 })],
    ['is 404 of the app', (reply) => reply.callNotFound()],
  ])('is kept that %s, past the hooks of the app', async (_, answer) => {
    const app = makeApp();
    app.register(spillway, { limiters: idempotency({ scope: () => 'ada' }) });
    app.addHook('onRequest', async (_request, reply) => void reply.header('x-early', 'yes'));
    app.addHook('onSend', async (_request, _reply, payload) =>
      typeof payload === 'string' ? `<${payload}>` : payload,
    );
    let runs = 0;
    app.post('/charges', async (_request, reply) => {
      runs += 1;
      return answer(reply);
    });
    const { ask } = askAt((await serve(app)).port);
    const first = await ask();
    const again = await ask();
    expect([again.status, String(again.bytes), runs]).toEqual([
      first.status,
      String(first.bytes),
      1,
    ]);
    expect(again.headers['content-type']).toBe(first.headers['content-type']);
    expect(again.headers['idempotency-replayed']).toBe('true');
  });

  const init = { status: 201, headers: { location: '/charges/17' } };
  it.each<[string, (reply: FastifyReply, text: string) => unknown]>([
    ['a Response', (_, text) => new Response(text, init)],
    [
      'a stream of the web',
      (reply, text) => reply.code(201).header('location', '/charges/17').send(webStream(text)),
    ],
  ])('is known, though its client has gone: %s', async (_, answer) => {
    const app = makeApp();
    const finish = latch();
    const arrived = latch();
    const departed = latch();
    let runs = 0;
    app.register(spillway, { limiters: idempotency({ scope: () => 'ada' }) });
    app.addHook('onSend', async (_request, _reply, payload) => payload);
    app.post('/charges', async (_request, reply) => {
      runs += 1;
      reply.raw.once('close', departed.open);
      arrived.open();
      await finish.opened;
      return answer(reply, 'done');
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
    expect([again.status, again.headers['location'], runs]).toEqual([409, '/charges/17', 1]);
  });

  it.each<[string, (reply: FastifyReply) => unknown, number]>([
    ['returns nothing', (reply) => void reply.code(204), 409],
    [
      'answers after it has returned the reply',
      (reply) => {
        setImmediate(() => void reply.code(201).send('late'));
        return reply;
      },
      201,
    ],
  ])('runs a handler once that %s, its client gone', async (_, answer, status) => {
    const app = makeApp();
    const arrived = latch();
    let runs = 0;
    app.register(spillway, { limiters: idempotency({ scope: () => 'ada' }) });
    app.register(spillway, { limiters: idempotency({ name: 'other', scope: () => 'ada' }) });
    app.post('/charges', async (_request, reply) => {
      runs += 1;
      arrived.open();
      await once(reply.raw, 'close');
      return answer(reply);
    });
    const { ask, open } = askAt((await serve(app)).port);
    const client = (open as NonNullable<typeof open>)();
    client.on('error', () => undefined);
    await arrived.opened;
    client.destroy();
    let again = await ask();
    await until(async () => {
      again = await ask();
      return again.headers['retry-after'] === undefined;
    });
    expect([again.status, runs]).toEqual([status, 1]);
  });

  it('writes no kept answer on a response that was taken over meanwhile', async () => {
    const app = makeApp();
    let taken: FastifyReply | undefined;
    app.addHook('onRequest', async (request, reply) => {
      if (request.headers['x-take'] !== undefined) taken = reply;
    });
    const scope = () => {
      taken?.hijack();
      return 'ada';
    };
    app.register(spillway, { limiters: idempotency({ scope }) });
    app.post('/charges', () => 'kept');
    const { ask } = askAt((await serve(app)).port);
    await ask();
    const again = ask({ headers: { 'x-take': '1' } });
    await until(() => taken?.sent === true);
    await new Promise(setImmediate);
    taken?.raw.end('by hand');
    const { headers, bytes } = await again;
    expect(String(bytes)).toBe('by hand');
    expect(headers['idempotency-replayed']).toBeUndefined();
  });

  it('is repeated with the fields that hooks before the guard have set, and ends for onResponse', async () => {
    const app = makeApp();
    const ended: unknown[] = [];
    app.addHook('onRequest', async (_request, reply) => void reply.header('x-early', 'yes'));
    app.addHook('onResponse', async (_request, reply) => void ended.push(reply.statusCode));
    app.register(spillway, { limiters: idempotency({ scope: () => 'ada' }) });
    app.post('/charges', async (_request, reply) => reply.code(201).send({ a: 1 }));
    const { ask } = askAt((await serve(app)).port);
    await ask();
    expect((await ask()).headers['x-early']).toBe('yes');
    expect(ended).toEqual([201, 201]);
  });

  it('is repeated without a connection too', async () => {
    const app = makeApp();
    app.register(spillway, { limiters: idempotency({ scope: () => 'ada' }) });
    app.post('/charges', async (_request, reply) => reply.code(201).send({ a: 1 }));
    const ask = () =>
      app.inject({ method: 'POST', url: '/charges', headers: { 'idempotency-key': 'k' } });
    const first = await ask();
    const again = await ask();
    expect([first.body, again.body, again.statusCode]).toEqual(['{"a":1}', '{"a":1}', 201]);
    expect(again.headers['idempotency-replayed']).toBe('true');
  });
});
