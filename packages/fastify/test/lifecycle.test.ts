/** From the decision to the end of the response: given back once, whatever happened. */

import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { concurrencyLimit, rateLimit, type Step, type Store, spillway } from '@spillway/fastify';
import { SlowStore } from 'spillway-testkit';
import { expect, it } from 'vitest';
import { noting } from './noting.js';
import { makeApp, serve, statuses, until } from './service.js';

it('lets a stream through as it is written, and releases at its end', async () => {
  const { outcomes, limiters } = noting();
  const app = makeApp();
  const stream = new PassThrough();
  app.register(spillway, { limiters });
  app.get('/', (_request, reply) => reply.send(stream));
  const { open } = await serve(app);
  const client = open();
  client.end();
  stream.write('one ');
  const [response] = await once(client, 'response');
  expect(String((await once(response, 'data'))[0])).toBe('one ');
  expect(outcomes).toEqual([]);
  stream.end('two');
  expect(String((await once(response, 'data'))[0])).toBe('two');
  await until(() => outcomes.length > 0);
  expect(outcomes).toEqual([{ status: 200, aborted: false }]);
});

it('releases when a handler fails', async () => {
  const { outcomes, limiters } = noting();
  const app = makeApp();
  app.register(spillway, { limiters });
  app.get('/now', () => {
    throw new Error('thrown');
  });
  app.get('/later', () => Promise.reject(new Error('rejected')));
  const { get } = await serve(app);
  expect([(await get('/now')).status, (await get('/later')).status]).toEqual([500, 500]);
  await until(() => outcomes.length === 2);
  expect(outcomes).toEqual([
    { status: 500, aborted: false },
    { status: 500, aborted: false },
  ]);
});

it('releases once when the client goes away before the answer, which then has no status', async () => {
  const { outcomes, limiters } = noting();
  const app = makeApp();
  let finish: () => void = () => undefined;
  app.register(spillway, { limiters });
  app.get('/', async () => {
    client.destroy();
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    return 'too late';
  });
  const { open } = await serve(app);
  const client = open().on('error', () => undefined);
  client.end();
  await until(() => outcomes.length > 0);
  finish();
  await new Promise(setImmediate);
  expect(outcomes).toEqual([{ aborted: true }]);
});

it('releases when the client goes away in the middle of a stream, which is destroyed', async () => {
  const { outcomes, limiters } = noting();
  const app = makeApp();
  const stream = new PassThrough();
  app.register(spillway, { limiters });
  app.get('/', (_request, reply) => {
    stream.write('begun');
    return reply.send(stream);
  });
  const { open } = await serve(app);
  const client = open().on('error', () => undefined);
  client.end();
  const [response] = await once(client, 'response');
  response.on('error', () => undefined);
  client.destroy();
  await until(() => outcomes.length > 0);
  expect(outcomes).toEqual([{ status: 200, aborted: true }]);
  await until(() => stream.destroyed);
});

it('releases where a handler takes the response over', async () => {
  const { outcomes, limiters } = noting();
  const app = makeApp();
  app.register(spillway, { limiters });
  app.get('/', (_request, reply) => {
    reply.hijack();
    reply.raw.end('by hand');
  });
  const { get } = await serve(app);
  expect((await get()).body).toBe('by hand');
  await until(() => outcomes.length > 0);
  expect(outcomes).toEqual([{ status: 200, aborted: false }]);
});

it.each(['at once', 'later'])(
  'gives permits back without a connection, with a store that answers %s',
  async (when) => {
    const memory = new SlowStore();
    const store: Store = {
      sync: false,
      apply: async (steps: readonly Step[]) => {
        const answers = memory.apply(steps);
        memory.answer();
        return answers;
      },
    };
    const app = makeApp();
    const limiters = concurrencyLimit({ name: 'two', limit: 2, key: 'all' });
    app.register(spillway, { limiters, ...(when === 'later' && { store }) });
    app.get('/', () => 'ok');
    expect(await statuses(app, '/', 5)).toEqual([200, 200, 200, 200, 200]);
    expect(app.spillway.inProgress).toBe(0);
  },
);

it('waits for a store that answers later', async () => {
  const store = new SlowStore();
  const app = makeApp();
  const limiters = rateLimit({ name: 'later', limit: 1, window: '1h' });
  app.register(spillway, { limiters, store, storeTimeout: '10s' });
  app.get('/', () => 'ok');
  const seen: number[] = [];
  for (const _ of [1, 2]) {
    const reply = app.inject('/');
    await until(() => store.calls.length > seen.length);
    store.answer();
    seen.push((await reply).statusCode);
  }
  expect(seen).toEqual([200, 429]);
});

it('gives back, and runs no handler, when the client has gone away meanwhile', async () => {
  const store = new SlowStore();
  let handled = 0;
  let closed = false;
  const app = makeApp();
  app.addHook('onRequest', async (_request, reply) => {
    reply.raw.once('close', () => {
      closed = true;
    });
  });
  const refundIf = (_: unknown, { aborted }: { aborted?: boolean }) => aborted === true;
  const limiters = rateLimit({ name: 'gone', limit: 1, window: '1h', refundIf });
  app.register(spillway, { limiters, store, storeTimeout: '10s' });
  app.get('/', () => {
    handled += 1;
    return 'ok';
  });
  const { open } = await serve(app);
  const client = open().on('error', () => undefined);
  client.end();
  await until(() => store.calls.length === 1);
  client.destroy();
  await until(() => closed);
  store.answer();
  await until(() => store.calls.length === 2);
  expect(store.calls[1]).toMatchObject([{ op: 'put', limiter: 'gone', cost: 1 }]);
  expect(handled).toBe(0);
});

it('gives back all that is held when the app closes', async () => {
  const puts: Step[] = [];
  const memory = new SlowStore();
  const store: Store = {
    sync: false,
    apply: async (steps: readonly Step[]) => {
      puts.push(...steps.filter(({ op }) => op === 'put'));
      const answers = memory.apply(steps);
      memory.answer();
      return answers;
    },
  };
  const app = makeApp();
  const limiters = concurrencyLimit({ name: 'held', limit: 2, key: 'all' });
  app.register(spillway, { limiters, store });
  app.get('/', { config: { spillway: rateLimit({ name: 'r', limit: 9, window: '1h' }) } }, () => {
    return new Promise(() => undefined);
  });
  await app.ready();
  app.inject('/').then(undefined, () => undefined);
  await until(() => app.spillway.inProgress === 1);
  expect(puts).toEqual([]);
  await app.close();
  expect(puts).toMatchObject([{ limiter: 'held', op: 'put' }]);
  expect(app.spillway.inProgress).toBe(0);
});

it('ends what a hook before it has begun by hand, if it refuses: no handler runs', async () => {
  const { outcomes, limiters } = noting();
  const app = makeApp();
  app.addHook('onRequest', async (_request, reply) => {
    reply.raw.writeHead(200);
    reply.raw.write('begun');
  });
  let runs = 0;
  app.register(spillway, {
    limiters: [limiters, concurrencyLimit({ name: 'one', limit: 1, key: 'all' })],
  });
  app.get('/', (_request, reply) => {
    runs += 1;
    reply.hijack();
  });
  const { get, open } = await serve(app);
  const first = open().on('error', () => undefined);
  first.end();
  await once(first, 'response');
  expect(await get()).toMatchObject({ status: 200, body: 'begun' });
  expect(runs).toBe(1);
  first.destroy();
  await until(() => outcomes.length === 1);
  expect(outcomes).toEqual([{ status: 200, aborted: true }]);
});
