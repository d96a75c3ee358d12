import type { Answer, Step } from '@spillway/core';
import { makeLeasesRule, makeRule, measure, systemClock } from '@spillway/core/store';
import { Redis } from 'ioredis';
import { type RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ALGORITHMS, rateRule } from '../../conformance/src/rules.js';
import { type RedisStore, redisStore } from '../src/index.js';
import { nameOf, take } from './steps.js';

describe.skipIf(redisProgram === null)('the Redis store', () => {
  let server: RedisServer;
  let client: Redis;
  let store: RedisStore;

  beforeAll(async () => {
    server = await startServer();
    client = new Redis(server.port);
    store = redisStore(client);
  });
  afterAll(async () => {
    client.disconnect();
    await server.kill();
  });
  beforeEach(async () => {
    await client.flushall();
    await client.config('RESETSTAT');
  });

  /** How often Redis has run this command since the test began, including within scripts. */
  async function calls(command: string): Promise<number> {
    const stats = await client.info('commandstats');
    return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
  }

  it('goes by the clock of Redis', async () => {
    const [seconds, micros] = await client.time();
    const [answer] = await store.apply([take('ada')]);
    const nowUs = Number(seconds) * 1_000_000 + Number(micros);
    expect(answer?.nowUs).toBeGreaterThan(nowUs);
    expect(answer?.nowUs).toBeLessThan(nowUs + 10_000_000);
    expect(await calls('time')).toBe(2);
  });

  it.each(ALGORITHMS)(
    'leaves no key without an expiry, and repairs one (%s)',
    async (algorithm) => {
      const rule = rateRule(algorithm, 3, 10_000_000);
      for (const [op, cost] of [
        ['take', 1],
        ['take', 1],
        ['record', 9],
        ['take', 1],
      ] as const) {
        await store.apply([take('ada', { op, cost, rule })]);
        const ttl = await client.pttl(nameOf('ada', rule));
        expect(ttl).toBeGreaterThan(0);
        expect(ttl).toBeLessThanOrEqual(20_002);
      }
      await store.apply([take('ada', { op: 'reset', rule })]);
      await store.apply([take('ada', { rule })]);
      await client.persist(nameOf('ada', rule));
      await store.apply([take('ada', { rule })]);
      expect(await client.pttl(nameOf('ada', rule))).toBeGreaterThan(0);
    },
  );

  it.each(ALGORITHMS)('keeps a key no less long than it counts (%s)', async (algorithm) => {
    // Many windows that begin and end within a millisecond: most of them show it if a lifetime is rounded down.
    const rule = rateRule(algorithm, 7, 10_000_003);
    for (let i = 0; i < 40; i += 1) {
      const [answer] = await store.apply([take(`key ${i}`, { rule })]);
      const restsUs =
        (answer?.nowUs ?? 0) + Math.round(measure(rule, answer as Answer, 1).resetMs * 1000);
      const expiresMs = Number(await client.call('PEXPIRETIME', nameOf(`key ${i}`, rule)));
      expect(expiresMs * 1000).toBeGreaterThanOrEqual(restsUs);
      expect(expiresMs * 1000).toBeLessThan(restsUs + 30_000_000);
    }
  });

  it.each(ALGORITHMS)('really lets keys expire, and resets by deleting (%s)', async (algorithm) => {
    const rule = rateRule(algorithm, 3, 30_000);
    const step = take('ada', { rule });
    const stands = () => client.exists(nameOf('ada', rule));
    const taken = () => store.apply([step]).then(stands);
    // Repeated if the window ended meanwhile.
    await expect.poll(taken, { interval: 1 }).toBe(1);
    await expect.poll(stands).toBe(0);
    await store.apply([step, { ...step, key: 'bob' }]);
    await store.apply([{ ...step, op: 'reset' }]);
    expect(await client.exists(nameOf('ada', rule))).toBe(0);
  });

  it.each(ALGORITHMS)('writes nothing when it refuses or looks (%s)', async (algorithm) => {
    const rule = rateRule(algorithm, 2, 60_000_000);
    await store.apply([take('ada', { rule, cost: 2 })]);
    const before = await client.dumpBuffer(nameOf('ada', rule));
    await client.config('RESETSTAT');
    const full = take('ada', { rule });
    const steps: Step[][] = [
      [full],
      [{ ...full, cost: 9 }],
      [{ ...full, binding: false }],
      [{ ...full, op: 'look' }],
      [{ ...full, cost: 0 }],
      [{ ...full, op: 'record', cost: 0 }],
      [{ ...full, op: 'put', receipt: { atUs: 1, num: 0, units: 1 } }],
      [take('bob', { rule }), full],
    ];
    for (const group of steps) await store.apply(group);
    expect(await client.dumpBuffer(nameOf('ada', rule))).toEqual(before);
    expect(await client.exists(nameOf('bob', rule))).toBe(0);
    for (const command of ['set', 'del', 'rpush', 'lset', 'ltrim', 'lrem', 'pexpire']) {
      expect(await calls(command), command).toBe(0);
    }
  });

  it('refuses a group for permits that are all held, also if the take names no lease', async () => {
    const permits = { rule: makeLeasesRule(1, 60_000_000), limiter: 'in-flight' };
    await store.apply([take('ada', { ...permits, lease: { id: 'a', critical: false } })]);
    const answers = await store.apply([take('ada', permits), take('bob')]);
    expect(answers.map(({ allowed }) => allowed)).toEqual([false, true]);
    expect(await client.exists(nameOf('bob'))).toBe(0);
  });

  it('stores what its format says', async () => {
    const at = async (key: string, rule: Step['rule'], cost = 1) => {
      await store.apply([take(key, { rule, cost })]);
      return nameOf(key, rule);
    };
    const whole = await at('ada', makeRule('token-bucket', 10, 60_000_000));
    expect(await client.get(whole)).toMatch(/^\d{16}$/);
    expect(await client.object('ENCODING', whole)).toBe('int');
    expect(await client.get(await at('bob', makeRule('token-bucket', 7, 60_000_000)))).toMatch(
      /^\d{16}:[1-6]$/,
    );
    expect(
      await client.get(await at('eve', makeRule('sliding-window-counter', 7, 60_000_000))),
    ).toMatch(/^\d{16}:1:0$/);
    const rule = makeRule('sliding-window-log', 7, 60_000_000);
    await at('joe', rule);
    // For lists of more entries: log.test.ts.
    const [tail, ...rest] = await client.lrangeBuffer(await at('joe', rule, 3), 0, -1);
    expect(tail).toHaveLength(1 + 3 * 11);
    expect(rest).toEqual([]);
  });

  it('decides all that is asked in one turn in one call, of at most maxSteps', async () => {
    const ask = async (other: RedisStore, count: number) => {
      await client.config('RESETSTAT');
      const answers = await Promise.all(
        Array.from({ length: count }, () => other.apply([take('ada')])),
      );
      return answers.filter(([answer]) => answer?.allowed).length;
    };
    await store.apply([take('bob')]); // Redis knows the script
    expect(await ask(store, 100)).toBe(3);
    expect(await calls('evalsha')).toBe(1);
    await ask(store, 300);
    expect(await calls('evalsha')).toBe(3);
    await ask(redisStore(client, { maxSteps: 10 }), 100);
    expect(await calls('evalsha')).toBe(10);
    await ask(redisStore(client, { coalesce: false }), 10);
    expect(await calls('evalsha')).toBe(10);
  });

  it('decides a group of 300 steps in one call, all or nothing', async () => {
    const steps = Array.from({ length: 300 }, (_, i) => take(`key-${i}`));
    await store.apply([take('key-299', { cost: 3 })]);
    await client.config('RESETSTAT');
    const answers = await store.apply(steps);
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(299);
    expect(await calls('evalsha')).toBe(1);
    expect(await client.dbsize()).toBe(1);
  });

  it('goes on when Redis has forgotten the script, also in the middle of many calls', async () => {
    const fresh = redisStore(client, { coalesce: false });
    await client.script('FLUSH');
    const asked: Promise<unknown>[] = [];
    for (let i = 0; i < 60; i += 1) {
      asked.push(fresh.apply([take(`key-${i % 20}`, { cost: i < 20 ? 1 : 2 })]));
      if (i % 20 === 10) asked.push(client.script('FLUSH'));
    }
    await Promise.all(asked);
    const looks = Array.from({ length: 20 }, (_, i) => take(`key-${i}`, { op: 'look' }));
    const counts = (await store.apply(looks)).map(
      (answer) => 'current' in answer && answer.current,
    );
    expect(counts).toEqual(Array(20).fill(3)); // 1 and 2 are charged, 2 more rejected: no take counts twice
  });

  it.each(ALGORITHMS)(
    'fails only the group of a key that is not its own (%s)',
    async (algorithm) => {
      const rule = rateRule(algorithm, 3, 60_000_000);
      const junk: [string, () => Promise<unknown>][] = [
        ['hash', () => client.hset(nameOf('hash', rule), 'a', 1)],
        ['text', () => client.set(nameOf('text', rule), 'full')],
        ['empty', () => client.set(nameOf('empty', rule), '')],
        ['hex', () => client.set(nameOf('hex', rule), '0x10')],
        ['half', () => client.set(nameOf('half', rule), `${2 ** 51}.5`)],
        ['nan', () => client.set(nameOf('nan', rule), 'nan')],
        ['minus', () => client.set(nameOf('minus', rule), '-1')],
        ['list', () => client.rpush(nameOf('list', rule), 'a', 'b', 'c')],
        ['one', () => client.rpush(nameOf('one', rule), '1')],
      ];
      for (const [, write] of junk) await write();
      const groups = junk.flatMap(([key]) => [
        [take(`before ${key}`, { rule })],
        [take(key, { rule })],
        [take(`with ${key}`, { rule }), take(key, { rule })],
        [take(`after ${key}`, { rule })],
      ]);
      const results = await Promise.allSettled(groups.map((group) => store.apply(group)));
      for (const [i, result] of results.entries()) {
        const told = `${groups[i]?.[0]?.key}`;
        if (i % 4 === 0 || i % 4 === 3) expect(result.status, told).toBe('fulfilled');
        else expect(result, told).toMatchObject({ reason: { code: 'SPW_STORE_ERROR' } });
      }
      for (const [key] of junk) expect(await client.exists(nameOf(`with ${key}`, rule))).toBe(0);
      expect(await calls('evalsha')).toBe(1);

      // Single takes, for which the script has a separate, shorter path.
      const takes = junk.flatMap(([key]) => [[take(key, { rule })], [take(`no ${key}`, { rule })]]);
      const decided = await Promise.allSettled(takes.map((group) => store.apply(group)));
      const told = decided.map((one) => (one.status === 'fulfilled' ? 'decided' : one.reason.code));
      expect(told).toEqual(junk.flatMap(() => ['SPW_STORE_ERROR', 'decided']));
    },
  );

  it('fails with a code and without secrets when a call fails', async () => {
    await client.config('SET', 'maxmemory', '1');
    const error = await store.apply([take('ada')]).catch((error) => error);
    await client.config('SET', 'maxmemory', '0');
    expect(error).toMatchObject({ code: 'SPW_STORE_UNAVAILABLE', kind: 'oom' });
    expect(error.message).toContain('OOM');
    const many = await store.apply([take('ada'), take('bob')]);
    expect(many.map(({ allowed }) => allowed)).toEqual([true, true]);
  });

  it('charges nothing for a call that Redis comes to after its deadline', async () => {
    const other = new Redis(server.port);
    const rule = makeRule('token-bucket', 3, 60_000_000);
    // Takes of one bucket each have a shorter form if nothing else is in their call.
    const alone = redisStore(client);
    const stores = [store, store, store, alone, alone];
    await Promise.all([...new Set(stores)].map((each) => each.apply([take('bob')]))); // to know its clock
    await other.client('PAUSE', 200);
    const steps = [take('ada'), ...['ada', 'bob', 'eve', 'fay'].map((key) => take(key, { rule }))];
    const deadlineUs = systemClock.nowUs() + 50_000;
    const late = steps.map((step, i) => stores[i]?.apply([step], { deadlineUs }));
    for (const result of await Promise.allSettled(late)) {
      expect(result).toMatchObject({ reason: { code: 'SPW_STORE_TIMEOUT' } });
    }
    other.disconnect();
    expect(await client.exists(...steps.map((step) => nameOf(step.key, step.rule)))).toBe(0);
    const soon = systemClock.nowUs() + 50_000;
    expect((await store.apply([take('ada')], { deadlineUs: soon }))[0]?.allowed).toBe(true);
  });

  it('understands clients that speak RESP3, give numbers as strings, or prefix keys', async () => {
    for (const options of [{ stringNumbers: true }, { keyPrefix: 'app:' }, { protocol: 3 }]) {
      const other = new Redis(server.port, options as object);
      for (const algorithm of ALGORITHMS) {
        const rule = rateRule(algorithm, 3, 60_000_000);
        const step = take(JSON.stringify(options), { rule, limiter: algorithm });
        const [answer] = await redisStore(other).apply([step]);
        expect(answer?.allowed).toBe(true);
        expect(Object.values(answer ?? {}).every((value) => typeof value !== 'string')).toBe(true);
      }
      other.disconnect();
    }
    // Braces are escaped.
    expect(await client.keys('app:spw:*')).toHaveLength(5);
    expect(await client.keys('app:spw:1{%007b"keyPrefix":"app:"%007d}*')).toHaveLength(5);
  });

  it('takes the options that make sense, and no others', async () => {
    expect(() => redisStore(client, { maxSteps: 0 })).toThrow('SPW_OPTION_INVALID');
    expect(() => redisStore(client, { hashKeys: '' })).toThrow('SPW_OPTION_INVALID');
    await redisStore(client, { hashKeys: 'secret' }).apply([take('ada')]);
    expect(await client.keys('*')).toEqual([
      expect.stringMatching(/^spw:1\{#[0-9a-f]{64}\}api\}fzq0ao$/),
    ]);
    expect(await store.apply([])).toEqual([]);
  });
});
