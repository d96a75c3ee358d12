/**
 * Versions of the packages on one Redis: those with the same stored format count together, those with different ones
 * separately.
 */

import type { Control, RateAlgorithm } from '@spillway/core';
import { withDebt } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { Redis } from 'ioredis';
import { type RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { seeded } from '../../packages/core/test/net/random.js';
import { type Tally, Trace } from './trace.js';
import { here, Limiters, packed, RATES, type Version } from './version.js';

const note = { by: 'ada', because: 'a test' };

/** Calls the method by its name in this version, or by its name in older releases. */
function overrideOf(control: Control, limiter: string, key: string): unknown {
  const { rulingOn } = control as { rulingOn?: Control['overrideOf'] };
  return (rulingOn ?? control.overrideOf).call(control, limiter, key);
}

describe.skipIf(redisProgram === null)('on one Redis', () => {
  let server: RedisServer;
  let redis: Redis;
  let before: Version;
  let release: Version;
  beforeAll(async () => {
    server = await startServer();
    redis = new Redis(server.port);
    before = await packed('0');
    release = await packed('1');
  });
  afterAll(async () => {
    redis.disconnect();
    await server.kill();
  });
  beforeEach(async () => void (await redis.flushall()));

  const limitersOf = (version: Version, clock: ManualClock) =>
    new Limiters(version, version.redisTesting.redisStoreAt(redis, clock));

  /** Plays `acts` acts, and adds to `tally` how many of each kind were done and rejected */
  async function play(versions: readonly Version[], seed: number, acts: number, tally: Tally) {
    await redis.flushall();
    const clock = new ManualClock();
    const store = here.core.memoryStore({ clock });
    const all = versions.map((version) => {
      return { redis: limitersOf(version, clock), memory: new Limiters(here, store) };
    });
    const random = seeded(seed);
    const trace = new Trace(random, all, tally);
    for (let i = 0; i < acts; i += 1) {
      if (random(3) === 0) clock.advance(1 + random(1_000));
      await trace.act();
    }
    const limiters = all.flatMap((twins) => Object.values(twins));
    await Promise.all(limiters.map((each) => each.close()));
  }

  it('the first release and this version count together, to and fro, as one does in memory', async () => {
    const tally: Tally = new Map();
    for (let seed = 1; seed <= 8; seed += 1) await play([release, here], seed, 600, tally);
    const both = [...tally].filter(([, { done, refused }]) => done > 0 && refused > 0);
    const asked = RATES.flatMap((rate) =>
      ['consume', 'peek', 'record', 'refund'].map((verb) => `${verb} ${rate}`),
    );
    expect(both.map(([act]) => act)).toEqual(
      expect.arrayContaining([...asked, 'admit', 'reserve', 'post']),
    );
    const all = [...asked, 'release', 'cancel', ...RATES.map((rate) => `reset ${rate}`)];
    expect([...tally.keys()]).toEqual(expect.arrayContaining(all));
  });

  it('an older format does not: the same trace differs', async () => {
    await expect(play([before, here], 1, 250, new Map())).rejects.toThrow();
  });

  it('the first release never reads a bucket with debt, and has its own beside it', async () => {
    const clock = new ManualClock();
    const store = here.redisTesting.redisStoreAt(redis, clock);
    const algorithm: RateAlgorithm = {
      name: 'token-bucket',
      makeRule: (...numbers) => withDebt(here.core.tokenBucket.makeRule(...numbers), 5, 5),
    };
    const numbers = { name: 'bucket', limit: 5, window: '10s' } as const;
    const owing = here.core.createLimiter({ ...numbers, algorithm }, { store, logger: false });
    const old = limitersOf(release, clock);
    expect((await owing.record('ada', { cost: 9 })).binding).toMatchObject({ used: 9 });
    expect(await old.rate('consume', 'bucket', 'ada', 5)).toMatchObject({ allowed: true, used: 5 });
    expect(await old.rate('consume', 'bucket', 'ada', 1)).toMatchObject({ allowed: false });
    expect(await owing.peek('ada')).toMatchObject({
      allowed: false,
      used: 9,
      retryAfterMs: 10_000,
    });
    await old.close();
  });

  it('the settings of any version are read by the others', async () => {
    for (const [one, other] of [
      [release, here],
      [here, release],
      [before, here],
    ] as const) {
      await redis.flushall();
      const [writer, reader] = [one.redis.redisControl(redis), other.redis.redisControl(redis)];
      onTestFinished(() => Promise.all([writer.close(), reader.close()]).then(() => undefined));
      await writer.set('api', { mode: 'shadow', share: 0.5, limits: { limit: 7 } }, note);
      await writer.limitKey('api', 'ada', { factor: 3 }, note);
      await writer.block('api', 'eve', note);
      await reader.refresh();
      expect(reader.settingsOf('api')).toEqual({
        mode: 'shadow',
        share: 0.5,
        limits: { limit: 7 },
      });
      expect(reader.limitsOf?.('api', 'ada')).toEqual({ factor: 3 });
      expect(overrideOf(reader, 'api', 'eve')).toMatchObject({ verdict: 'block' });
      expect(await reader.history()).toEqual(await writer.history());
    }
  });

  it('a deploy across a change of the format begins new counts, once', async () => {
    const clock = new ManualClock();
    const [old, next] = [limitersOf(before, clock), limitersOf(here, clock)];
    const passing = async (limiters: Limiters) => {
      let passed = 0;
      for (let i = 0; i < 20; i += 1) {
        if ((await limiters.rate('consume', 'fixed', 'ada', 1)).allowed) passed += 1;
      }
      return passed;
    };
    const seen = [await passing(old), await passing(next), await passing(old), await passing(next)];
    console.info(`a limit of 5, before, after, before and after a deploy: ${seen.join(', ')}`);
    expect(seen).toEqual([5, 5, 0, 0]);
    await Promise.all([old.close(), next.close()]);
  });
});
