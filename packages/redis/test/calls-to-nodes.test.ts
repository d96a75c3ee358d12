/** Calls of one turn for many slots: how they reach the nodes of a Cluster, and how the answers come back. */

import { Socket } from 'node:net';
import type { WindowAnswer } from '@spillway/core/store';
import { Cluster, type Redis } from 'ioredis';
import { Cluster as Cluster5 } from 'ioredis5';
import { Cluster as ValkeyCluster } from 'iovalkey';
import { redisProgram, useCluster } from 'spillway-testkit/redis';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { hashSlotOf } from '../src/hash-slot.js';
import { type RedisStore, redisStore } from '../src/index.js';
import { nameOf, take } from './steps.js';

type ClusterOptions = ConstructorParameters<typeof Cluster>[1];

const KEYS = Array.from({ length: 90 }, (_, i) => `key ${i}`);

describe.skipIf(redisProgram === null)('calls of one turn to the nodes of a Cluster', () => {
  const { servers, nodes } = useCluster();
  beforeEach(async () => {
    for (const node of nodes) await node.flushall();
  });

  async function open(Client = Cluster, options: ClusterOptions = {}) {
    const at = servers.map(({ port }) => ({ host: '127.0.0.1', port }));
    const client = new Client(at, options);
    const store = redisStore(client);
    await ask(store); // now it is connected to all nodes, and they have the script
    for (const node of nodes) await node.flushall();
    return { client, store };
  }

  const ask = (store: RedisStore) => Promise.all(KEYS.map((key) => store.apply([take(key)])));

  async function counts(store: RedisStore): Promise<number[]> {
    const look = (key: string) => store.apply([take(key, { op: 'look' })]);
    const answers = await Promise.all(KEYS.map(look));
    return answers.map(([answer]) => (answer as WindowAnswer).current);
  }

  /** How often the client writes to each of its sockets while `run` runs. */
  async function writes(client: Cluster, run: () => Promise<unknown>): Promise<number[]> {
    const single = vi.spyOn(Socket.prototype, '_write');
    const several = vi.spyOn(Socket.prototype, '_writev' as '_write');
    await run();
    const written = [...single.mock.contexts, ...several.mock.contexts];
    vi.restoreAllMocks();
    const sockets = client.nodes('master').map((node) => (node as { stream?: unknown }).stream);
    return sockets.map((socket) => written.filter((one) => one === socket).length);
  }

  /** Begins to move the (empty) slot of a key to another node. Returns a function that ends the move. */
  async function move(key: string) {
    const slot = hashSlotOf(nameOf(key));
    const at = Math.floor((slot * nodes.length) / 16_384);
    const from = nodes[at] as Redis;
    const to = nodes[(at + 1) % nodes.length] as Redis;
    const id = await to.cluster('MYID');
    await to.cluster('SETSLOT', slot, 'IMPORTING', `${await from.cluster('MYID')}`);
    await from.cluster('SETSLOT', slot, 'MIGRATING', `${id}`);
    return async () => {
      for (const node of [to, from]) await node.cluster('SETSLOT', slot, 'NODE', `${id}`);
    };
  }

  it.each([
    ['ioredis', Cluster],
    ['ioredis 5', Cluster5],
    ['iovalkey', ValkeyCluster],
  ])('are written together to each node by %s', async (_, Client) => {
    const { client, store } = await open(Client as typeof Cluster);
    expect(await writes(client, () => ask(store))).toEqual(nodes.map(() => 1));
    client.disconnect();
  });

  it.each<[string, string, ClusterOptions]>([
    ['has moved', 'key 7', {}],
    [
      'has moved, also with auto pipelining where it leaves scripts alone',
      'key 10',
      {
        enableAutoPipelining: true,
        autoPipeliningIgnoredCommands: ['evalsha', 'eval'],
      },
    ],
  ])('are all decided once, though one slot %s', async (_, key, options) => {
    const { client, store } = await open(Cluster, options);
    const end = await move(key);
    await end();
    const answers = await ask(store);
    expect(answers.every(([answer]) => answer?.allowed)).toBe(true);
    expect(await counts(store)).toEqual(KEYS.map(() => 1));
    client.disconnect();
  });

  it('are all decided once, though one slot is moving', async () => {
    const { client, store } = await open();
    const end = await move('key 8');
    const answers = await ask(store);
    expect(answers.every(([answer]) => answer?.allowed)).toBe(true);
    await end();
    expect(await counts(store)).toEqual(KEYS.map(() => 1));
    client.disconnect();
  });

  it('fail only where a key holds something else', async () => {
    const { client, store } = await open();
    await client.hset(nameOf('key 9'), 'not', 'ours');
    const results = await Promise.allSettled(KEYS.map((key) => store.apply([take(key)])));
    const failed = KEYS.filter((_, i) => results[i]?.status === 'rejected');
    expect(failed).toEqual(['key 9']);
    client.disconnect();
  });
});
