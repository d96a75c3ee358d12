/** Claims and values in Redis: how many calls they take, under which names, for how long, and what is rejected. */

import { createHash } from 'node:crypto';
import type { Step } from '@spillway/core';
import {
  type ClaimsAnswer,
  makeClaimsRule,
  makeLeasesRule,
  makeRule,
  type Op,
} from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { Redis } from 'ioredis';
import { type RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Ioredis } from '../src/clients/ioredis.js';
import { type RedisClient, type RedisStore, redisStore } from '../src/index.js';
import { redisStoreAt } from '../src/testing.js';
import { take } from './steps.js';

const MINUTE_US = 60_000_000;
const rule = makeClaimsRule(30_000_000, 86_400_000_000);

function owner(at: number): string {
  return `${at}`.padStart(16, 'o');
}

function claim(op: Op, id: string, at = 1, note?: string): Step {
  const named = { id, owner: owner(at), note };
  return { op, limiter: 'once', key: 'ada', rule, cost: 1, binding: true, claim: named };
}

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf16le').digest('hex');
}

const permits = makeLeasesRule(9, MINUTE_US);
const permit = { rule: permits, limiter: 'in-flight', lease: { id: 'a', critical: false } };
const buckets = ['a', 'b', 'c'].map((limiter) =>
  take('ada', { limiter, rule: makeRule('token-bucket', 9, MINUTE_US) }),
);

describe.skipIf(redisProgram === null)('in Redis', () => {
  let server: RedisServer;
  let client: Redis;
  let store: RedisStore;
  beforeAll(async () => {
    server = await startServer();
    client = new Redis(server.port);
  });
  afterAll(async () => {
    client.disconnect();
    await server.kill();
  });
  beforeEach(async () => {
    await client.flushall();
    store = redisStore(client);
    await store.apply([claim('take', 'warm')]);
    await client.flushall();
    await client.config('RESETSTAT');
  });

  async function calls(command: string): Promise<number> {
    const stats = await client.info('commandstats');
    return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
  }

  it('a claim and three limits are decided in one call, and a repeat in one', async () => {
    const first = await store.apply([...buckets, claim('take', 'id')]);
    expect(first.map(({ allowed }) => allowed)).toEqual([true, true, true, true]);
    expect(await calls('evalsha')).toBe(1);
    const again = await store.apply([...buckets, claim('take', 'id', 2)]);
    expect(again.at(-1)).toMatchObject({ allowed: false, state: 'running', owner: owner(1) });
    expect(await calls('evalsha')).toBe(2);
    const left = (await store.apply(buckets)).map((answer) => 'tatUs' in answer && answer.tatUs);
    // The first call charged one unit of nine, this one another, the repeat none.
    for (const [at, tatUs] of left.entries()) {
      const before = first[at];
      if (!before || !('tatUs' in before)) expect.unreachable();
      expect(Number(tatUs) - before.tatUs).toBeLessThan(MINUTE_US / 9 + 1);
    }
  });

  it('claim, permit and grant are ended in one call', async () => {
    const [bucket] = buckets as [Step];
    const taken = await store.apply([claim('take', 'id'), take('ada', permit), bucket]);
    const grant = taken[2];
    if (!grant || !('tatUs' in grant)) expect.unreachable();
    const receipt = { atUs: grant.tatUs, num: grant.tatNum, units: 1 };
    await client.config('RESETSTAT');
    const ended = await store.apply([
      take('ada', { ...permit, op: 'put' }),
      { ...bucket, op: 'put', receipt },
      claim('done', 'id', 1, 'kept'),
    ]);
    expect(await calls('evalsha')).toBe(1);
    expect(ended).toMatchObject([
      { allowed: true, used: 0 },
      { allowed: true },
      { allowed: true, state: 'done', note: 'kept' },
    ]);
  });

  it('a hundred at once on four connections: one runs it', async () => {
    const clients = Array.from({ length: 4 }, () => new Redis(server.port));
    const stores = clients.map((each) => redisStore(each));
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, at) =>
        (stores[at % 4] as RedisStore).apply([claim('take', 'id', at)]),
      ),
    );
    for (const each of clients) each.disconnect();
    expect(answers.filter(([answer]) => answer?.allowed)).toHaveLength(1);
  });

  it('what only ends something is done after the deadline of its call too', async () => {
    await store.apply([claim('take', 'id'), take('ada', permit)]);
    const ends = [take('ada', { ...permit, op: 'put' }), claim('done', 'id')];
    // Changes the deadline that the script receives, as if each call came an hour too late.
    const inner = new Ioredis(client);
    const late: RedisClient = {
      state: 'ready',
      evalsha: (sha, keys, args) => inner.evalsha(sha, keys, ['1', ...args.slice(1)]),
      eval: (text, keys, args) => inner.eval(text, keys, ['1', ...args.slice(1)]),
      onceChanged: () => () => {},
    };
    const slow = redisStore(late, { coalesce: false });
    const timeout = { code: 'SPW_STORE_TIMEOUT' };
    await expect(slow.apply([claim('take', 'other')])).rejects.toMatchObject(timeout);
    await expect(slow.apply([...ends, take('ada')])).rejects.toMatchObject(timeout);
    expect(await slow.apply(ends)).toMatchObject([{ allowed: true }, { state: 'done' }]);
  });

  it('names have the hash of the id, and share the slot of their key', async () => {
    const id = '{x} a\r\nDEL';
    await store.apply([claim('take', id)]);
    await store.values.set(
      { limiter: 'once', key: 'ada', id: owner(1) },
      new Uint8Array(3),
      MINUTE_US,
    );
    const escaped = '%007bx%007d a%000d%000aDEL';
    expect((await client.keys('*')).sort()).toEqual([
      `spw:1{ada}once}c#${sha256(escaped)}`,
      `spw:1{ada}once}v#${sha256(owner(1))}`,
    ]);
  });

  it('names tell nothing without the secret, where keys are hidden', async () => {
    const hidden = redisStore(client, { hashKeys: 's3cret' });
    await hidden.apply([claim('take', 'id')]);
    await hidden.values.set(
      { limiter: 'once', key: 'ada', id: 'id' },
      new Uint8Array(3),
      MINUTE_US,
    );
    const names = await client.keys('*');
    for (const name of names) {
      expect(name).toMatch(/^spw:1\{#[0-9a-f]{64}\}once\}[cv]#[0-9a-f]{64}$/);
      expect(name).not.toContain(sha256('id'));
    }
    expect(names).toHaveLength(2);
  });

  it('a claim lives as long as its lease, and one that is done as long as it is kept', async () => {
    const [taken] = (await store.apply([claim('take', 'id')])) as readonly [ClaimsAnswer];
    const name = `spw:1{ada}once}c#${sha256('id')}`;
    expect(await client.get(name)).toBe(`${taken.endsUs}r${owner(1)}`);
    const running = await client.pttl(name);
    expect(running).toBeGreaterThan(29_000);
    expect(running).toBeLessThanOrEqual(30_002);
    const [done] = (await store.apply([claim('done', 'id', 1, 'a:b')])) as readonly [ClaimsAnswer];
    expect(await client.get(name)).toBe(`${done.endsUs}d${owner(1)}a:b`);
    const kept = await client.pttl(name);
    expect(kept).toBeGreaterThan(86_399_000);
    expect(kept).toBeLessThanOrEqual(86_400_002);
    await store.apply([claim('reset', 'id')]);
    expect(await client.exists(name)).toBe(0);
  });

  it('a value lives as long as told, as text where it is text', async () => {
    const name = { limiter: 'once', key: 'ada', id: owner(1) };
    const key = `spw:1{ada}once}v#${sha256(owner(1))}`;
    await store.values.set(name, new TextEncoder().encode('{"café":1}'), 1_500_001);
    expect(await client.get(key)).toBe('t{"café":1}');
    const leftMs = await client.pttl(key);
    expect(leftMs).toBeGreaterThan(1_000);
    expect(leftMs).toBeLessThanOrEqual(1_501);
    await store.values.set(name, new Uint8Array([1, 0, 255]), MINUTE_US);
    expect(await client.get(key)).toBe('bAQD/');
    await client.pexpire(key, 1);
    await expect.poll(() => client.exists(key)).toBe(0);
    expect(await store.values.get(name)).toBeUndefined();
  });

  it('a value of somebody else is an error of that call', async () => {
    const name = { limiter: 'once', key: 'ada', id: 'id' };
    const key = `spw:1{ada}once}v#${sha256('id')}`;
    for (const text of ['', 'x', 'b?']) {
      await client.set(key, text);
      await expect(store.values.get(name)).rejects.toMatchObject({ code: 'SPW_STORE_ERROR' });
    }
    await client.del(key);
    await client.lpush(key, 'x');
    await expect(store.values.get(name)).rejects.toMatchObject({ code: 'SPW_STORE_ERROR' });
  });

  it('a value has the deadline of its call', async () => {
    const name = { limiter: 'once', key: 'ada', id: 'id' };
    const late = { deadlineUs: 1 };
    const timeout = { code: 'SPW_STORE_TIMEOUT' };
    await expect(store.values.get(name, late)).rejects.toMatchObject(timeout);
    const set = store.values.set(name, new Uint8Array(1), MINUTE_US, late);
    await expect(set).rejects.toMatchObject(timeout);
    expect(await client.keys('*')).toEqual([]);
  });

  it.each([
    '',
    'x',
    '1',
    '1767225600000000',
    `r${owner(1)}`,
    `1767225600000000x${owner(1)}`,
    '1767225600000000rshort',
    `-1r${owner(1)}`,
    `1e3r${owner(1)}`,
    `1767225600000000r${owner(1)}x`,
    `1767225600000000d${owner(1)}${'n'.repeat(257)}`,
    `${'9'.repeat(15)}doooooooo oooooo1`,
    `${'9'.repeat(15)}d${owner(1)}é`,
  ])('what is no claim is an error of that call: %j', async (text) => {
    const at = redisStoreAt(client, new ManualClock(1));
    const name = `spw:1{ada}once}c#${sha256('id')}`;
    await client.set(name, text);
    const group = [claim('take', 'id'), take('ada')];
    await expect(at.apply(group)).rejects.toMatchObject({ code: 'SPW_STORE_ERROR' });
    expect(await client.get(name)).toBe(text);
    await at.apply([claim('reset', 'id')]);
    expect(await at.apply([claim('take', 'id')])).toMatchObject([{ allowed: true }]);
  });

  it('what one group repairs, the next group of the same call leaves', async () => {
    const clock = new ManualClock(1_800_000_000_000_000);
    const at = redisStoreAt(client, clock);
    await at.apply([claim('take', 'ahead')]);
    clock.setUs(1_700_000_000_000_000);
    const full = take('ada', { cost: 3 });
    await at.apply([full]);
    // Both groups have the same shape, which the script reads only once.
    const ask = (id: string) => at.apply([claim('take', id, 2), full]);
    const [ahead, free] = await Promise.all([ask('ahead'), ask('free')]);
    expect(ahead?.[0]).toMatchObject({ allowed: false, endsUs: 1_700_000_030_000_000 });
    expect(free?.[0]).toMatchObject({ allowed: true, state: 'free' });
    expect(await client.keys('*once}*')).toEqual([`spw:1{ada}once}c#${sha256('ahead')}`]);
  });

  it('a reset of a key asks for no claim, and a dropped claim for no other count', async () => {
    const other = { ...(buckets[0] as Step), limiter: 'once' };
    for (const each of [other.rule, rule]) store.register('once', each);
    await store.apply([claim('take', 'id'), other]);
    await store.apply([{ ...other, op: 'reset' }]);
    expect(await client.keys('*once}*')).toEqual([`spw:1{ada}once}c#${sha256('id')}`]);
    await store.apply([other]);
    await store.apply([claim('reset', 'id')]);
    expect(await client.keys('*once}*')).toEqual([`spw:1{ada}once}${other.rule.code}`]);
  });
});
