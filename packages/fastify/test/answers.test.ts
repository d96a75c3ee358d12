/** What goes over the wire, and what the app's own hooks see of it. */

import { ManualClock } from '@spillway/core/testing';
import { memoryStore, rateLimit, spillway } from '@spillway/fastify';
import { describe, expect, it } from 'vitest';
import { makeApp, serve } from './service.js';

const PROBLEM =
  '{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota exceeded","status":429,' +
  '"detail":"You have used up the quota of policy \\"2-per-1m\\". Try again in 30 seconds.","violated-policies":["2-per-1m"]}';

/** Refuses every request. */
const nobody = () => rateLimit({ name: 'nobody', limit: 1, window: '1h', cost: () => 2 });

it('answers up to the limit, then refuses with 429, all fields and a problem document', async () => {
  const clock = new ManualClock();
  const app = makeApp();
  const limiters = rateLimit({ name: '2-per-1m', limit: 2, window: '1m' });
  app.register(spillway, { limiters, store: memoryStore({ clock }) });
  app.get('/', () => 'hello');
  const { get } = await serve(app);
  expect(await get()).toMatchObject({
    status: 200,
    fields: [
      ['ratelimit-policy', '"2-per-1m";q=2;w=60'],
      ['ratelimit', '"2-per-1m";r=1;t=30'],
      ['content-type', 'text/plain; charset=utf-8'],
      ['content-length', '5'],
    ],
    body: 'hello',
  });
  await get();
  expect(await get()).toMatchObject({
    status: 429,
    fields: [
      ['ratelimit-policy', '"2-per-1m";q=2;w=60'],
      ['ratelimit', '"2-per-1m";r=0;t=30'],
      ['retry-after', '30'],
      ['cache-control', 'no-store'],
      ['content-type', 'application/problem+json'],
      ['content-length', String(PROBLEM.length)],
    ],
    body: PROBLEM,
  });
  clock.advance('30s');
  expect((await get()).status).toBe(200);
});

it.each(['/', '/nowhere'])('sends the length but no body to a refused HEAD %s', async (path) => {
  const app = makeApp();
  app.register(spillway, { limiters: nobody() });
  app.get('/', () => 'hello');
  const { get } = await serve(app);
  const whole = await get(path);
  const head = await get(path, { method: 'HEAD' });
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

it('sends the legacy fields when asked, and none when told so', async () => {
  const app = makeApp();
  const limiters = rateLimit({ limit: 5, window: '1m' });
  app.register(async (child) => {
    child.register(spillway, { limiters, headers: ['legacy'] });
    child.get('/legacy', () => 'ok');
  });
  app.register(async (child) => {
    child.register(spillway, { limiters, headers: [] });
    child.get('/none', () => 'ok');
  });
  const { headers } = await app.inject('/legacy');
  expect(headers).toMatchObject({ 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '4' });
  expect(headers['ratelimit']).toBeUndefined();
  const names = Object.keys((await app.inject('/none')).headers);
  expect(names.filter((name) => name.includes('ratelimit'))).toEqual([]);
});

describe('an own answer to a refusal', () => {
  const answering = async (onRefused: NonNullable<Parameters<typeof spillway>[1]['onRefused']>) => {
    const app = makeApp();
    app.register(spillway, { limiters: nobody(), onRefused });
    app.get('/', () => 'hello');
    return app.inject('/');
  };

  it.each<[string, NonNullable<Parameters<typeof spillway>[1]['onRefused']>]>([
    ['sent', ({ binding }, _request, reply) => void reply.send({ sorry: binding?.limiter })],
    ['sent and returned', ({ binding }, _, reply) => reply.send({ sorry: binding?.limiter })],
    ['returned', ({ binding }) => ({ sorry: binding?.limiter })],
    ['returned later', async ({ binding }) => ({ sorry: binding?.limiter })],
  ])('may be %s, with the status and the fields already set', async (_, onRefused) => {
    const { statusCode, headers, body } = await answering(onRefused);
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
  ])('is a 500 of the app where it %s', async (_, onRefused) => {
    const { statusCode, body } = await answering(onRefused);
    expect(statusCode).toBe(500);
    expect(JSON.parse(body).message).toBe('mine');
  });
});

it('never tells a client to wait for what can never pass', async () => {
  const app = makeApp();
  app.register(spillway, { limiters: nobody() });
  const { headers } = await app.inject('/');
  expect(headers['retry-after']).toBeUndefined();
  expect(headers['ratelimit']).toBe('"nobody";r=0');
});

it('changes nothing a client can see in shadow mode', async () => {
  const plain = makeApp();
  const shadowed = makeApp();
  const limiters = rateLimit({ limit: 1, window: '1h', mode: 'shadow' });
  shadowed.register(spillway, { limiters, headers: ['draft-11', 'legacy'] });
  const replies = [];
  for (const app of [plain, shadowed]) {
    app.get('/', () => ({ ok: true }));
    const { get } = await serve(app);
    replies.push([await get(), await get(), await get('/', { method: 'HEAD' })]);
  }
  const visible = replies.map((list) =>
    list.map(({ status, fields, body }) => ({ status, fields, body })),
  );
  expect(visible[1]).toEqual(visible[0]);
});
