/** Which clients the store and the control accept, recognized by their shape. */

import { Redis as Upstash } from '@upstash/redis';
import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5';
import { Redis as Valkey, Cluster as ValkeyCluster } from 'iovalkey';
import { createClient, createClientPool, createCluster } from 'redis';
import { createClient as createClient5, createCluster as createCluster5 } from 'redis5';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type AnyRedisClient, fromUpstash, redisControl, redisStore } from '../src/index.js';

const lazy = { lazyConnect: true };
const nodes = { rootNodes: [{ url: 'redis://:secret@127.0.0.1:7000' }] };
const upstash = () => new Upstash({ url: 'https://redis.example', token: 'secret' });

// None has a cast: what users write compiles.
const TAKEN: readonly [string, () => AnyRedisClient, string][] = [
  ['a client of ioredis 6', () => new Redis({ ...lazy, port: 7001 }), 'Redis at localhost:7001'],
  ['a client of ioredis 5', () => new Redis5({ ...lazy, port: 7001 }), 'Redis at localhost:7001'],
  ['a client of iovalkey', () => new Valkey({ ...lazy, port: 7001 }), 'Redis at localhost:7001'],
  ['a cluster of ioredis 6', () => new Cluster([7000], lazy), 'Redis Cluster'],
  ['a cluster of ioredis 5', () => new Cluster5([7000], lazy), 'Redis Cluster'],
  ['a cluster of iovalkey', () => new ValkeyCluster([7000], lazy), 'Redis Cluster'],
  ['a client of node-redis 6', () => createClient(), 'Redis at localhost:6379'],
  ['a client of node-redis 5', () => createClient5(), 'Redis at localhost:6379'],
  ['a cluster of node-redis 6', () => createCluster(nodes), 'Redis Cluster of 0'],
  ['a cluster of node-redis 5', () => createCluster5(nodes), 'Redis Cluster of 0'],
  ['one made of an Upstash client', () => fromUpstash(upstash()), 'Redis over HTTP'],
];

/** What the store and the control throw for a client; undefined if they accept it. */
function refusalOf(client: unknown): string | undefined {
  const messages = [redisStore, redisControl].map((make) => {
    try {
      make(client as Redis);
      return undefined;
    } catch (error) {
      return String(error);
    }
  });
  expect(messages[0]).toBe(messages[1]);
  return messages[0];
}

describe('redisStore and redisControl', () => {
  it.each(TAKEN)('take %s as it is', (_, make, label) => {
    const client = make();
    const control = redisControl(client);
    onTestFinished(() => control.close());
    const store = redisStore(client) as ReturnType<typeof redisStore> & { readonly label: string };
    expect(store.label).toBe(label);
  });

  it.each<[string, unknown, string]>([
    ['a URL', 'redis://:secret@127.0.0.1', 'got string'],
    ['nothing', undefined, 'got undefined'],
    ['null', null, 'got null'],
    ['options of a client', { url: 'redis://:secret@127.0.0.1' }, 'got another object'],
    ['a promise of a client', Promise.resolve(createClient()), 'got a promise: await it first'],
    ['a pool of node-redis', createClientPool(), 'got another object'],
    ['a client of Upstash', upstash(), 'write fromUpstash(client)'],
    ['something with a state', { state: 'ready' }, 'got another object'],
  ])('refuse %s, and say what they take', (_, client, got) => {
    const message = refusalOf(client);
    expect(message).toContain('SPW_OPTION_INVALID');
    expect(message).toMatch(/ioredis or iovalkey.*node-redis.*createCluster.*fromUpstash/);
    expect(message).toContain(got);
    expect(message).not.toContain('secret');
  });

  it('read of an Upstash client, which makes a command of each name, nothing but `pipeline`', () => {
    const read = new Set<unknown>();
    const client = new Proxy(upstash(), {
      get(target, name) {
        read.add(name);
        return Reflect.get(target, name);
      },
    });
    refusalOf(client);
    expect([...read]).toEqual(['pipeline']);
  });
});
