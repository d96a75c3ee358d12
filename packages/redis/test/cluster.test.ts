import { createGuard, rateLimit, type Step } from '@spillway/core';
import {
  type BucketAnswer,
  makeClaimsRule,
  makeLeasesRule,
  makeRule,
  type WindowAnswer,
} from '@spillway/core/store';
import fc from 'fast-check';
import { Cluster, type Redis } from 'ioredis';
import { Cluster as Cluster5 } from 'ioredis5';
import { redisProgram, useCluster } from 'spillway-testkit/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hashSlotOf } from '../src/hash-slot.js';
import { type RedisStore, redisStore } from '../src/index.js';
import { nameOf, take } from './steps.js';

const HOUR_US = 3_600_000_000;
const request = {
  method: 'GET',
  path: '/',
  clientIp: '203.0.113.7',
  header: () => undefined,
  raw: undefined,
};

describe.skipIf(redisProgram === null)('on Redis Cluster', () => {
  const { servers, nodes } = useCluster();
  let client: Cluster;
  let client5: Cluster5;
  let store: RedisStore;

  beforeAll(async () => {
    const at = servers.map(({ port }) => ({ host: '127.0.0.1', port }));
    client = new Cluster(at);
    client5 = new Cluster5(at);
    store = redisStore(client);
  });
  afterAll(async () => {
    for (const each of [client, client5]) each?.disconnect();
  });
  beforeEach(async () => {
    for (const node of nodes) {
      await node.flushall();
      await node.config('RESETSTAT');
    }
  });

  async function calls(command: string): Promise<number> {
    const stats = await Promise.all(nodes.map((node) => node.info('commandstats')));
    const count = (text: string) =>
      Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(text)?.[1] ?? 0);
    return stats.reduce((sum, text) => sum + count(text), 0);
  }

  async function current(...keys: string[]): Promise<number[]> {
    const answers = await store.apply(keys.map((key) => take(key, { op: 'look' })));
    return answers.map((answer) => (answer as WindowAnswer).current);
  }

  it('finds the slot of every key as Redis does', async () => {
    const any = fc.oneof(
      fc.string({ unit: fc.constantFrom('{', '}', 'a', 'é') }),
      fc.string({ unit: 'binary' }),
    );
    const keys = [
      '',
      'a',
      '123456789',
      '{',
      '}{',
      '{}',
      '{}{a}',
      '{a}{b}',
      '{a',
      'a}',
      'x{é🚰}y',
      '\0{\0}',
    ];
    keys.push(...fc.sample(any, 1_000), 'a'.repeat(100_000));
    const node = nodes[0] as Redis;
    const slots = await Promise.all(keys.map((key) => node.cluster('KEYSLOT', key)));
    expect(keys.map(hashSlotOf)).toEqual(slots);
  });

  it('keeps calls to different slots apart that waited for it to connect', async () => {
    for (const Client of [Cluster, Cluster5]) {
      const late = new Client([{ host: '127.0.0.1', port: servers[0]?.port ?? 0 }]);
      const fresh = redisStore(late as Cluster);
      const keys = ['ada', 'bob', 'eve', 'joe'];
      const answers = await Promise.all(keys.map((key) => fresh.apply([take(key)])));
      late.disconnect();
      expect(answers.every(([answer]) => answer?.allowed)).toBe(true);
    }
  });

  it('decides all limits of one subject in one call', async () => {
    const group = ['a', 'b', 'c'].map((limiter) => take('ada', { limiter }));
    await store.apply(group);
    for (const node of nodes) await node.config('RESETSTAT');
    const answers = await store.apply(group);
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, true, true]);
    expect(await calls('evalsha')).toBe(1);
  });

  it('gives each slot a call of its own, all groups of a turn in it', async () => {
    const keys = ['ada', 'bob', 'eve', 'joe'];
    expect(new Set(keys.map((key) => hashSlotOf(nameOf(key)))).size).toBe(4);
    const ask = () =>
      Promise.all(keys.flatMap((key) => [1, 2, 3, 4].map(() => store.apply([take(key)]))));
    await Promise.all(keys.map((key) => store.apply([take(key, { op: 'reset' })])));
    for (const node of nodes) await node.config('RESETSTAT');
    const answers = await ask();
    expect(answers.filter(([answer]) => answer?.allowed)).toHaveLength(12);
    expect(await calls('evalsha')).toBe(4);
  });

  it('takes nothing of a group across slots of which one refuses', async () => {
    const keys = ['ada', 'bob', 'eve', 'joe'];
    const rules = {
      ada: makeRule('token-bucket', 7, 60_000_000),
      bob: makeRule('sliding-window-counter', 7, 60_000_000),
      eve: makeRule('sliding-window-log', 7, 60_000_000),
      joe: makeRule('fixed-window', 3, 60_000_000),
    } as Record<string, Step['rule']>;
    const group = keys.map((key) => take(key, { cost: 2, rule: rules[key] as Step['rule'] }));
    const shadow = take('shadow', { binding: false, cost: 2 });
    const record = take('record', { op: 'record' });
    expect((await store.apply([...group, shadow])).every(({ allowed }) => allowed)).toBe(true);
    const looks = () => store.apply([...group, shadow].map((s) => ({ ...s, op: 'look', cost: 1 })));
    const before = await looks();
    const refused = await store.apply([...group, { ...shadow, cost: 1 }, record]);
    expect(refused.map(({ allowed }) => allowed)).toEqual([true, true, true, false, true, true]);
    const state = (answers: readonly object[]) =>
      answers.map((answer) => ({
        ...answer,
        nowUs: 0,
        allowed: true,
        tatNum: 0,
        freesUs: 0,
        provisional: undefined,
      }));
    expect(state(await looks())).toEqual(state(before));
    expect(state(refused.slice(0, 4))).toEqual(state(before.slice(0, 4)));
    expect(await current('record')).toEqual([1]);
  });

  it('decides a claim and the limits of its key in one call, and gives it up for those of others', async () => {
    const rule = makeClaimsRule(60_000_000, 60_000_000);
    const claim = (owner: string) =>
      take('ada', { limiter: 'once', rule, claim: { id: 'id', owner: owner.repeat(16) } });
    const permits = { limiter: 'in-flight', rule: makeLeasesRule(9, 60_000_000) };
    const permit = (id: string) => take('ada', { ...permits, lease: { id, critical: false } });
    await store.apply([claim('w'), take('ada')]);
    await store.apply([{ ...claim('w'), op: 'put' }]);
    for (const node of nodes) await node.config('RESETSTAT');
    const first = await store.apply([claim('a'), take('ada'), permit('a')]);
    expect(first.map(({ allowed }) => allowed)).toEqual([true, true, true]);
    expect(await calls('evalsha')).toBe(1);
    // A repeat charges nothing, not even in other slots.
    const repeat = await store.apply([claim('b'), take('ada'), take('bob'), take('eve')]);
    expect(repeat[0]).toMatchObject({ allowed: false, owner: 'a'.repeat(16) });
    expect(await current('ada', 'bob', 'eve')).toEqual([2, 0, 0]);
    await store.apply([{ ...claim('a'), op: 'put' }]);
    // A request that another slot rejects has claimed nothing.
    await store.apply([take('bob', { op: 'record', cost: 3 })]);
    const refused = await store.apply([claim('c'), take('bob')]);
    expect(refused).toMatchObject([{ allowed: true, state: 'free' }, { allowed: false }]);
    expect(await store.apply([claim('d')])).toMatchObject([{ allowed: true, state: 'running' }]);
    const name = { limiter: 'once', key: 'ada', id: 'd'.repeat(16) };
    await store.values.set(name, new Uint8Array([1, 2]), 60_000_000);
    expect(await store.values.get(name)).toEqual(new Uint8Array([1, 2]));
    const keys = (await Promise.all(nodes.map((node) => node.keys('*once}*')))).flat();
    expect(new Set(keys.map(hashSlotOf)).size).toBe(1);
    expect(keys).toHaveLength(2);
  });

  it('takes no permit of a fleet for what the limit of a subject refuses', async () => {
    const fleet = { rule: makeLeasesRule(100, 60_000_000, 0.2), limiter: 'fleet' };
    const ask = (id: string) =>
      store.apply([
        take('fleet', { ...fleet, lease: { id, critical: false } }),
        take('ada', {
          limiter: 'in-flight',
          rule: makeLeasesRule(2, 60_000_000),
          lease: { id, critical: false },
        }),
        take('ada'),
      ]);
    const used = async () => (await store.apply([take('fleet', { ...fleet, op: 'look' })]))[0];
    await ask('a');
    await ask('b');
    expect(await used()).toMatchObject({ used: 2 });
    const refused = await ask('c');
    expect(refused.map(({ allowed }) => allowed)).toEqual([true, false, true]);
    expect(refused[0]).toMatchObject({ used: 2 });
    expect(await used()).toMatchObject({ used: 2 });
    expect(await current('ada')).toEqual([2]);
  });

  it('puts back what was taken when a slot fails', async () => {
    await client.hset(nameOf('bob'), 'not', 'ours');
    await expect(store.apply([take('ada'), take('bob'), take('eve')])).rejects.toMatchObject({
      code: 'SPW_STORE_ERROR',
    });
    expect(await current('ada', 'eve')).toEqual([0, 0]);
  });

  it('is refused where one slot refuses, though another fails: what failed says so', async () => {
    await client.hset(nameOf('bob'), 'not', 'ours');
    await store.apply([take('eve', { cost: 3 })]);
    const group = [take('ada'), take('bob'), take('eve')];
    const answers = await store.apply(group);
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, true, false]);
    expect(answers.map(({ failure }) => failure?.message)).toEqual([
      undefined,
      expect.stringContaining('SPW_STORE_ERROR'),
      undefined,
    ]);
    expect(await current('ada', 'eve')).toEqual([0, 3]);
  });

  it('says on which node a step depends, and what it is called', async () => {
    for (const each of [store, redisStore(client5)]) {
      expect(each.label).toBe('Redis Cluster of 3');
      const parts = new Map<string, number>();
      for (let i = 0; i < 300; i += 1) {
        const part = each.domainOf?.(take(`key ${i}`)) ?? '';
        parts.set(part, (parts.get(part) ?? 0) + 1);
        // All limits of one key are on one node.
        expect(each.domainOf?.(take(`key ${i}`, { limiter: 'other' }))).toBe(part);
      }
      const addresses = servers.map(({ port }) => `127.0.0.1:${port}`);
      expect([...parts.keys()].sort()).toEqual(addresses.sort());
      expect(Math.min(...parts.values())).toBeGreaterThan(60);
    }
  });

  it('counts the same key twice in a group together', async () => {
    const answers = await store.apply([
      take('ada', { cost: 2 }),
      take('bob'),
      take('ada', { cost: 2 }),
    ]);
    expect(answers.map(({ allowed }) => allowed)).toEqual([false, true, false]);
    expect(await current('ada', 'bob')).toEqual([0, 0]);
  });

  it('admits exactly the limit of many parallel calls, with either client', async () => {
    const stores = [store, redisStore(client5), redisStore(client, { coalesce: false })];
    const rule = makeRule('token-bucket', 10, 600_000_000);
    const asked = Array.from({ length: 300 }, (_, i) =>
      stores[i % 3]?.apply([
        take('ada', { rule }),
        take('ada', { rule: makeRule('fixed-window', 20, 600_000_000), limiter: 'other' }),
      ]),
    );
    const answers = await Promise.all(asked);
    expect(answers.filter((all) => all?.every(({ allowed }) => allowed))).toHaveLength(10);
  });

  it('never admits more than the limit across slots, and all of it when nobody is in the way', async () => {
    const rule = makeRule('sliding-window-log', 10, 600_000_000);
    const group = ['ada', 'bob'].map((key) => take(key, { rule }));
    const crowd = Array.from({ length: 50 }, () =>
      redisStore(client, { coalesce: false }).apply(group),
    );
    let admitted = (await Promise.all(crowd)).filter((all) => all.every((a) => a.allowed)).length;
    expect(admitted).toBeLessThanOrEqual(10);
    while ((await store.apply(group)).every(({ allowed }) => allowed)) admitted += 1;
    expect(admitted).toBe(10);
  });

  it('remembers no refusal that another group across slots is about to undo', async () => {
    const limits = (key: string, limit: number) =>
      rateLimit({ name: key, limit, window: '1h', key });
    const guardOf = (...limiters: ReturnType<typeof limits>[]) => {
      const own = redisStore(client, { coalesce: false });
      const guard = createGuard(limiters, { store: own, storeTimeout: '20s' });
      const ask = async () => {
        const before = await calls('evalsha');
        const { allowed } = await guard.admit(request);
        return { allowed, asked: (await calls('evalsha')) > before };
      };
      return { ask };
    };
    // As with two processes: the first takes from ada for a moment, until bob rejects and it is put back; the second
    // meets ada's count meanwhile.
    await store.apply([
      take('bob', { limiter: 'bob', rule: makeRule('token-bucket', 1, HOUR_US) }),
    ]);
    const taken = take('ada', { limiter: 'ada', rule: makeRule('token-bucket', 1, HOUR_US) });
    const [grant] = (await store.apply([taken])) as [BucketAnswer];
    const alone = guardOf(limits('ada', 1));
    const across = guardOf(limits('ada', 1), limits('bob', 1));
    expect(await alone.ask()).toEqual({ allowed: false, asked: true });
    expect(await across.ask()).toEqual({ allowed: false, asked: true });
    // A rejected group across slots is asked again at once; one in a single slot, only within a second.
    expect(await across.ask()).toEqual({ allowed: false, asked: true });
    expect(await alone.ask()).toEqual({ allowed: false, asked: false });
    await store.apply([
      { ...taken, op: 'put', receipt: { atUs: grant.tatUs, num: grant.tatNum, units: taken.cost } },
    ]);
    await expect.poll(() => alone.ask(), { interval: 100 }).toEqual({ allowed: true, asked: true });
  });

  it('goes on when every node has forgotten the script', async () => {
    const keys = Array.from({ length: 20 }, (_, i) => `key-${i}`);
    await Promise.all(nodes.map((node) => node.script('FLUSH')));
    const answers = await store.apply(keys.map((key) => take(key)));
    expect(answers.every(({ allowed }) => allowed)).toBe(true);
    expect(await current(...keys)).toEqual(Array(20).fill(1));
  });
});
