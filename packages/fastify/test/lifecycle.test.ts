/** From the decision to the end of the response: the permit is given back exactly once, whatever happens. */

import { once } from 'node:events';
import { remoteStore } from '@spillway/core/store';
import { concurrencyLimit, rateLimit, type Step, type Store, spillway } from '@spillway/fastify';
import type { FastifyReply } from 'fastify';
import { SlowStore } from 'spillway-testkit';
import { expect, it } from 'vitest';
import { noting } from './noting.js';
import { makeApp, serve, statuses, until } from './service.js';

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
    const memory = remoteStore(new SlowStore());
    const store: Store = remoteStore({
      sync: false,
      apply: async (steps: readonly Step[]) => {
        const answers = memory.apply(steps);
        memory.answer();
        return answers;
      },
    });
    const app = makeApp();
    const limiters = concurrencyLimit({ name: 'two', limit: 2, key: 'all' });
    app.register(spillway, { limiters, ...(when === 'later' && { store }) });
    app.get('/', () => 'ok');
    expect(await statuses(app, '/', 5)).toEqual([200, 200, 200, 200, 200]);
    expect(app.spillway.inProgress).toBe(0);
  },
);

it.each(['onRequest', 'preHandler'] as const)(
  'leaves a response alone that was taken over while the store was asked, by %s',
  async (hook) => {
    const store = remoteStore(new SlowStore());
    const app = makeApp();
    let taken: FastifyReply | undefined;
    app.addHook('onRequest', async (_request, reply) => {
      taken = reply;
    });
    const limiters = rateLimit({ name: 'none', limit: 1, window: '1h', cost: () => 2 });
    app.register(spillway, { limiters, hook, store, storeTimeout: '10s' });
    app.get('/', () => 'ok');
    const { get } = await serve(app);
    const reply = get();
    await until(() => store.calls.length === 1);
    taken?.hijack();
    store.answer();
    await new Promise(setImmediate);
    taken?.raw.end('by hand');
    expect(await reply).toMatchObject({ status: 200, body: 'by hand' });
  },
);

it('gives back all that is held when the app closes', async () => {
  const puts: Step[] = [];
  const memory = remoteStore(new SlowStore());
  const store: Store = remoteStore({
    sync: false,
    apply: async (steps: readonly Step[]) => {
      puts.push(...steps.filter(({ op }) => op === 'put'));
      const answers = memory.apply(steps);
      memory.answer();
      return answers;
    },
  });
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
