/** An app's mistakes: wrong options stop its start; what goes wrong at a request fails no request. */

import {
  type Fault,
  memoryStore,
  rateLimit,
  type SpillwayOptions,
  spillway,
} from '@spillway/fastify';
import fastifyPlugin from 'fastify-plugin';
import { describe, expect, it } from 'vitest';
import { makeApp, statuses } from './service.js';

const one = () => rateLimit({ name: 'one', limit: 1, window: '1h' });

describe('at the start', () => {
  it.each<[string, unknown, string]>([
    ['trustProxy', { trustProxy: true }, 'SPW_TRUST_PROXY_UNSAFE'],
    ['ipv6Prefix', { ipv6Prefix: 129 }, 'SPW_OPTION_INVALID'],
    ['hook', { hook: 'onSend' }, 'SPW_OPTION_INVALID'],
    ['limiters', { limiters: { limit: 5 } }, 'SPW_LIMITER_INVALID'],
    ['groups', { groups: { few: { limit: 5 } } }, 'SPW_LIMITER_INVALID'],
    ['store', { limiters: one(), store: {} }, 'SPW_STORE_INVALID'],
    ['onStoreError', { limiters: one(), onStoreError: 'ignore' }, 'SPW_OPTION_INVALID'],
  ])('%s that is wrong is refused', async (_, options, code) => {
    const app = makeApp();
    app.register(spillway, options as SpillwayOptions);
    await expect(app.ready()).rejects.toMatchObject({ code });
  });

  it('a plugin that is called, and not registered, is refused by a sentence', async () => {
    const app = makeApp();
    app.register((spillway as unknown as (limiter: unknown) => never)(one()));
    await expect(app.ready()).rejects.toThrow(
      'spillway must be registered, as in app.register(spillway, { limiters }), got ',
    );
  });

  it.each<[string, unknown, string]>([
    ['a group that there is not', 'nobody', 'SPW_OPTION_INVALID'],
    ['an empty text', '', 'SPW_OPTION_INVALID'],
    ['what is no limiter', { limit: 5 }, 'SPW_LIMITER_INVALID'],
    ['two limiters of one name', [one(), one()], 'SPW_NAME_CONFLICT'],
  ])('a route that names %s is refused', async (_, config, code) => {
    const app = makeApp();
    await app.register(spillway, { groups: { few: one() } });
    app.get('/', { config: { spillway: config as string } }, () => 'ok');
    await expect(app.ready()).rejects.toMatchObject({ code });
  });
});

describe('a limit of @fastify/rate-limit that is left in a route', () => {
  const config = { rateLimit: { max: 5, timeWindow: '1 minute' } };

  it('is refused, with the route and the word for it', async () => {
    const app = makeApp();
    await app.register(spillway, { limiters: one() });
    app.get('/export', { config }, () => 'ok');
    await expect(app.ready()).rejects.toThrow(
      'the config of route /export has "rateLimit", of a plugin that is not registered: use "spillway" instead',
    );
  });

  it('is that plugin’s own while both are there, as in a migration', async () => {
    const app = makeApp();
    await app.register(fastifyPlugin(async () => {}, { name: '@fastify/rate-limit' }));
    await app.register(spillway, { limiters: one() });
    app.get('/export', { config }, () => 'ok');
    await expect(app.ready()).resolves.toBeDefined();
  });
});

it("refuses to take the place of a decoration of the app's own", async () => {
  const app = makeApp();
  app.decorate('spillway', { height: 30 } as never);
  app.register(spillway, { limiters: one() });
  await expect(app.ready()).rejects.toMatchObject({ code: 'SPW_NAME_CONFLICT' });
  expect(app.spillway).toEqual({ height: 30 });
});

it('asks nothing of the groups around a context but what its routes name', async () => {
  const app = makeApp();
  app.register(spillway, { groups: { unnamed: rateLimit({ limit: 5, window: '1h' }) } });
  app.register(async (child) => {
    child.register(spillway, { limiters: one(), store: memoryStore() }); // a store needs names
    child.get('/', () => 'ok');
  });
  expect(await statuses(app, '/', 2)).toEqual([200, 429]);
});

describe('at a request', () => {
  it('callbacks that throw are told, and the request is limited by address', async () => {
    const faults: Fault[] = [];
    const app = makeApp();
    const fails = (): never => {
      throw new Error('mine');
    };
    const limiters = rateLimit({ name: 'one', limit: 1, window: '1h', key: fails });
    app.register(spillway, { limiters, skip: fails, onFault: (fault) => faults.push(fault) });
    app.get('/', () => 'ok');
    expect(await statuses(app, '/', 2)).toEqual([200, 429]);
    expect(faults.map(({ source }) => source)).toEqual(['skip', 'key', 'skip', 'key']);
  });

  it('a reply that cannot be written to is a fault, and the handler runs', async () => {
    const faults: Fault[] = [];
    const app = makeApp();
    app.addHook('onRequest', async (_request, reply) => {
      Object.assign(reply, {
        header: () => {
          throw new Error('mine');
        },
      });
    });
    app.register(spillway, { limiters: one(), onFault: (fault) => faults.push(fault) });
    app.get('/', () => 'ok');
    expect(await statuses(app, '/', 1)).toEqual([200]);
    expect(faults).toMatchObject([{ source: 'adapter' }]);
  });
});

it('is typed: limiters have the request as raw, routes have config.spillway', () => {
  const app = makeApp();
  const limiters = rateLimit({
    limit: 1,
    window: '1s',
    key: ({ raw }) => raw.headers['x-key']?.at(0),
  });
  app.register(spillway, { limiters, onRejected: (_, request, reply) => reply.send(request.ip) });
  app.get('/a', { config: { spillway: false } }, () => 'ok');
  app.get('/b', { config: { spillway: ['few', limiters] } }, () => 'ok');
  // @ts-expect-error a number is no limit
  app.get('/c', { config: { spillway: 5 } }, () => 'ok');
  expect(app.hasRoute({ method: 'GET', url: '/c' })).toBe(true);
});
