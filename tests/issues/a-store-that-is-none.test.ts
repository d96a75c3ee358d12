/** An invalid store throws when the guard is made: it would silently leave every limit open. */

import { createGuard, createLimiter, memoryStore, rateLimit, type Store } from '@spillway/core';
import { nodeGuard } from '@spillway/core/node';
import { remoteStore } from '@spillway/core/store';
import { spillway as express } from '@spillway/express';
import { spillway as hono } from '@spillway/hono';
import { spillway as koa } from '@spillway/koa';
import { SpillwayModule } from '@spillway/nestjs';
import { fromUpstash, redisStore } from '@spillway/redis';
import { Redis as Upstash } from '@upstash/redis';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { describe, expect, it, onTestFinished } from 'vitest';

function ioredis(): Redis {
  const client = new Redis({ lazyConnect: true });
  onTestFinished(() => client.disconnect());
  return client;
}

const upstash = () => new Upstash({ url: 'https://redis.example', token: 'secret' });

const NONE: readonly [string, () => unknown, string][] = [
  ['an ioredis client', ioredis, 'got an ioredis client'],
  ['a node-redis client', createClient, 'got a node-redis client'],
  ['an Upstash client', upstash, 'redisStore(fromUpstash(client))'],
  ['a client for redisStore', () => fromUpstash(upstash()), 'redisStore(client)'],
  ['a promise', () => Promise.resolve(memoryStore()), 'await it'],
  ['an object', () => ({}), 'without `apply`'],
  ['a URL', () => 'redis://:secret@127.0.0.1', 'got a string'],
  ['a function', () => memoryStore, 'got '],
  ['true', () => true, 'got true'],
];

const limit = { name: 'a', limit: 1, window: '1m' } as const;

const MAKERS: readonly [string, (store: Store) => unknown][] = [
  ['createGuard', (store) => createGuard(rateLimit(limit), { store })],
  ['createLimiter', (store) => createLimiter(limit, { store })],
  ['nodeGuard', (store) => nodeGuard(rateLimit(limit), { store })],
  ['Express', (store) => express(rateLimit(limit), { store })],
  ['Koa', (store) => koa(rateLimit(limit), { store })],
  ['Hono', (store) => hono(rateLimit(limit), { store })],
  [
    'Nest',
    (store) => {
      const { providers = [] } = SpillwayModule.forRoot({ store });
      for (const provider of providers) {
        if ('useFactory' in provider) provider.useFactory({ store });
      }
    },
  ],
];

describe.each(MAKERS)('%s', (_, make) => {
  it.each(NONE)('refuses %s', (_name, none, message) => {
    const store = none() as Store;
    expect(() => make(store)).toThrow('store must be memoryStore() or redisStore(client)');
    expect(() => make(store)).toThrow(message);
    expect(() => make(store)).toThrow('SPW_STORE_INVALID');
    expect(() => make(store)).not.toThrow('secret');
  });
});

it("asks of a store of one's own nothing but apply", async () => {
  const memory = memoryStore();
  const apply = async (steps: Parameters<Store['apply']>[0]) => memory.apply(steps);
  const store = remoteStore({ apply } as Store);
  const guard = createGuard(rateLimit(limit), { store });
  const request = { method: 'GET', path: '/', clientIp: '192.0.2.1', header: () => undefined };
  const ask = async () => (await guard.admit({ ...request, raw: undefined })).allowed;
  expect([await ask(), await ask()]).toEqual([true, false]);
});

describe('redisStore', () => {
  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a URL', 'redis://:secret@127.0.0.1'],
    ['an object', {}],
    ['something with a state', { state: 'ready' }],
    ['an Upstash client as it is', upstash()],
  ])('refuses %s with a sentence that shows no password', (_, client) => {
    const make = () => redisStore(client as Redis);
    expect(make).toThrow(
      'client must be one of ioredis or iovalkey, such as new Redis(url), one of',
    );
    expect(make).toThrow('SPW_OPTION_INVALID');
    expect(make).not.toThrow('secret');
  });
});
