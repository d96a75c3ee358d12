/** What only Fastify does with the responses, and what the app's hooks see of them. */

import { rateLimit, spillway } from '@spillway/fastify';
import type { FastifyReply } from 'fastify';
import { latch } from 'spillway-testkit/adapters';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { makeApp, serve } from './service.js';

/** Refuses every request. */
const nobody = () => rateLimit({ name: 'nobody', limit: 1, window: '1h', cost: () => 2 });

it('sends the length but no body to a refused HEAD of what no route answers', async () => {
  const app = makeApp();
  app.register(spillway, { limiters: nobody() });
  app.get('/', () => 'hello');
  const { get } = await serve(app);
  const whole = await get('/nowhere');
  const head = await get('/nowhere', { method: 'HEAD' });
  expect(head).toMatchObject({ status: 429, body: '' });
  expect(head.headers['content-length']).toBe(String(whole.body.length));
});

it.each(['onRequest', 'preHandler'] as const)(
  'limits what no route answers, by %s, whoever answers it',
  async (hook) => {
    const app = makeApp();
    app.register(spillway, { limiters: rateLimit({ limit: 2, window: '1h' }), hook });
    app.register(
      async (child) => {
        child.setNotFoundHandler((_request, reply) => reply.code(404).send('not here'));
      },
      { prefix: '/child' },
    );
    const first = await app.inject('/nowhere');
    expect(first.statusCode).toBe(404);
    expect(first.headers['ratelimit']).toMatch(/r=1;/);
    expect((await app.inject('/child/nowhere')).body).toBe('not here');
    expect((await app.inject('/child/nowhere')).statusCode).toBe(429);
    expect((await app.inject('/nowhere')).statusCode).toBe(429);
  },
);

it('shows a refusal to the hooks of the app, as any other answer', async () => {
  const app = makeApp();
  const seen: unknown[] = [];
  app.register(spillway, { limiters: nobody() });
  app.addHook('onSend', async (_request, reply, payload) => {
    seen.push(
      reply.statusCode,
      reply.getHeader('content-type'),
      JSON.parse(String(payload)).status,
    );
    reply.header('x-seen', 'yes');
    return payload;
  });
  app.addHook('onResponse', async (_request, reply) => void seen.push(reply.statusCode));
  app.get('/', () => 'hello');
  const { headers } = await app.inject('/');
  expect(headers).toMatchObject({ 'x-seen': 'yes', 'content-type': 'application/problem+json' });
  expect(seen).toEqual([429, 'application/problem+json', 429, 429]);
});

it('sends the same document whatever serializers and schemas the route has', async () => {
  const app = makeApp();
  app.setReplySerializer(() => 'made by the app');
  app.addHook('preSerialization', async () => ({ made: 'by the app' }));
  app.register(spillway, { limiters: nobody() });
  const response = { 429: { type: 'object', properties: { other: { type: 'string' } } } };
  app.get('/', { schema: { response } }, () => ({ ok: true }));
  expect((await app.inject('/')).json()).toMatchObject({ status: 429, title: 'Quota exceeded' });
});

it('keeps the fields on the answer to an error, and on one that the app writes by itself', async () => {
  const app = makeApp();
  app.register(spillway, { limiters: rateLimit({ name: 'a', limit: 9, window: '1h' }) });
  app.get('/fails', () => Promise.reject(new Error('mine')));
  const fails = await app.inject('/fails');
  expect(fails.statusCode).toBe(500);
  expect(fails.headers['ratelimit']).toMatch(/^"a";r=8;/);
});

describe('an own answer to a refusal', () => {
  const answering = async (
    onRejected: NonNullable<Parameters<typeof spillway>[1]['onRejected']>,
  ) => {
    const app = makeApp();
    app.register(spillway, { limiters: nobody(), onRejected });
    app.get('/', () => 'hello');
    return app.inject('/');
  };

  it.each<[string, NonNullable<Parameters<typeof spillway>[1]['onRejected']>]>([
    ['sent', ({ binding }, _request, reply) => void reply.send({ sorry: binding?.limiter })],
    ['sent and returned', ({ binding }, _, reply) => reply.send({ sorry: binding?.limiter })],
    ['returned', ({ binding }) => ({ sorry: binding?.limiter })],
    ['returned later', async ({ binding }) => ({ sorry: binding?.limiter })],
  ])('may be %s, with the status and the fields already set', async (_, onRejected) => {
    const { statusCode, headers, body } = await answering(onRejected);
    expect({ statusCode, body }).toEqual({ statusCode: 429, body: '{"sorry":"nobody"}' });
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(headers).toMatchObject({ 'cache-control': 'no-store', ratelimit: '"nobody";r=0' });
  });

  it('may have another status, and be shown what was refused', async () => {
    const { statusCode, body } = await answering((admission, request, reply) =>
      reply.code(admission.status + 1).send(request.url),
    );
    expect({ statusCode, body }).toEqual({ statusCode: 430, body: '/' });
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('mine');
      },
    ],
    ['rejects', () => Promise.reject(new Error('mine'))],
  ])('is a 500 of the app where it %s', async (_, onRejected) => {
    const { statusCode, body } = await answering(onRejected);
    expect(statusCode).toBe(500);
    expect(JSON.parse(body).message).toBe('mine');
  });
});

describe('an own answer that comes without being returned', () => {
  const refusing = async (own: (reply: FastifyReply) => unknown) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const faults: string[] = [];
    const asked = latch();
    const app = makeApp();
    app.addHook('onSend', async () => undefined); // so nothing is sent at once
    app.register(spillway, {
      limiters: nobody(),
      onFault: ({ error }) => void faults.push((error as Error).message),
      onRejected: (_admission, _request, reply) => {
        asked.open();
        return own(reply);
      },
    });
    app.get('/', () => 'secret');
    const { get } = await serve(app);
    const reply = get();
    await asked.opened;
    return { reply, faults };
  };

  it.each<[string, (reply: FastifyReply) => unknown]>([
    ['reply.send', (reply) => void reply.send('mine')],
    ['reply.send, async', async (reply) => void reply.send('mine')],
    ['reply.send later', (reply) => void setImmediate(() => reply.send('mine'))],
    ['the reply, and reply.send later', (reply) => setImmediate(() => reply.send('mine')) && reply],
    [
      'the reply, async, and reply.send later',
      async (reply) => {
        setImmediate(() => reply.send('mine'));
        return reply;
      },
    ],
    ['reply.hijack', (reply) => void setImmediate(() => reply.hijack().raw.end('mine'))],
  ])('by %s is sent', async (_, own) => {
    const { reply, faults } = await refusing(own);
    expect(await reply).toMatchObject({ status: 429, body: 'mine' });
    expect(faults).toEqual([]);
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(0));
  });

  it.each<[string, (reply: FastifyReply) => unknown]>([
    ['reply.hijack', (reply) => void reply.hijack()],
    ['the reply', (reply) => reply],
    ['the reply, async', async (reply) => reply],
  ])('by %s is the default rejection if it does not come within 10 s', async (_, own) => {
    const { reply, faults } = await refusing(own);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await reply).toMatchObject({
      status: 429,
      headers: { 'content-type': 'application/problem+json', ratelimit: '"nobody";r=0' },
    });
    expect(faults).toHaveLength(1);
  });

  it('is ignored if it comes later', async () => {
    const { reply } = await refusing((sending) => void setTimeout(() => sending.send({}), 10_001));
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await reply).status).toBe(429);
    await vi.advanceTimersByTimeAsync(1);
    await new Promise(setImmediate);
  });
});
