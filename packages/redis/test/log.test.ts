/** A long sliding log in Redis decides as one in memory does, however its chunks were split and joined. */

import { memoryStore, type Step, type Store } from '@spillway/core';
import { type LogAnswer, type LogRule, makeRule } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { Redis as Client } from 'ioredis';
import { type RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { asRedisClient } from '../src/clients/as-redis-client.js';
import { scriptOf, testScript } from '../src/codec/script.js';
import { Redis } from '../src/redis-store.js';
import { redisStoreAt } from '../src/testing.js';
import { LogTrace } from './log-traces.js';

const START_US = 1_767_225_600_000_000;

/** The script for tests, with chunks of so few entries that short traces split and join many. */
function scriptWithChunksOf(entries: number) {
  const { text } = testScript();
  const changed = text.replace(
    'CHUNK, WRAP, HALF = 11, 64,',
    `CHUNK, WRAP, HALF = 11, ${entries},`,
  );
  expect(changed === text).toBe(entries === 64);
  return scriptOf(changed);
}

describe.skipIf(redisProgram === null)('a sliding log in Redis', () => {
  let server: RedisServer;
  let client: Client;

  beforeAll(async () => {
    server = await startServer();
    client = new Client(server.port);
  });
  afterAll(async () => {
    client.disconnect();
    await server.kill();
  });
  beforeEach(async () => {
    await client.flushall();
    await client.config('RESETSTAT');
  });

  async function expectSame(rule: LogRule, seed: number, steps: number, chunk: number, fill = 0) {
    const clock = new ManualClock();
    clock.setUs(START_US);
    const redis: Store = new Redis(asRedisClient(client), scriptWithChunksOf(chunk), {}, clock);
    const memory = memoryStore({ clock });
    const trace = new LogTrace(rule, seed, fill);
    for (let i = 0; i < steps; i += 1) {
      const { step, moveUs } = trace.next();
      clock.setUs(Math.max(START_US, clock.nowUs() + moveUs));
      // One script call for all three: this log, a second log that misses some steps, and one that is new each time.
      const steps = [step, { ...step, key: `new ${i}` }];
      if (i % 3 > 0) steps.push({ ...step, key: 'bob' });
      const answers = await Promise.all(steps.map((one) => redis.apply([one])));
      for (const [at, one] of steps.entries()) {
        const [wanted] = memory.apply([one]) as LogAnswer[];
        const told = `seed ${seed}, step ${i}: ${one.op} ${one.cost} of ${one.key}`;
        expect({ told, ...answers[at]?.[0] }).toEqual({ told, ...wanted });
        if (at === 0) trace.told(one, wanted as LogAnswer);
      }
    }
    // The trace did what it is for: chunks were joined, and reopened or dropped.
    for (const command of ['lrem', 'ltrim'])
      expect(await calls(command), command).toBeGreaterThan(0);
  }

  /** How often scripts have run this command since the test began. */
  async function calls(command: string): Promise<number> {
    const stats = await client.info('commandstats');
    return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
  }

  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])(
    'answers as memory does, with chunks of a few entries (seed %i)',
    async (seed) => {
      const limit = [50, 100, 200, 1_000_000_000][seed % 4] as number;
      const rule = makeRule('sliding-window-log', limit, 10_000_000) as LogRule;
      await expectSame(rule, seed, 3000, 2 + (seed % 3));
    },
  );

  it('answers as memory does, with thousands of entries', async () => {
    const rule = makeRule('sliding-window-log', 20_000, 10_000_000) as LogRule;
    await expectSame(rule, 20, 10_000, 64, 4_000);
  });

  it('counts on beyond 2^32 units', async () => {
    const clock = new ManualClock(START_US);
    const redis: Store = new Redis(asRedisClient(client), scriptWithChunksOf(2), {}, clock);
    const memory = memoryStore({ clock });
    const rule = makeRule('sliding-window-log', 1_000_000_000, 10_000_000);
    const base: Step = { op: 'take', limiter: 'log', key: 'ada', rule, cost: 1, binding: true };
    for (let i = 0; i < 200; i += 1) {
      clock.setUs(START_US + i * 1_000_000); // some entries never expire, so the sum goes on
      const receipt = { atUs: START_US + (i - 3 - (i % 5)) * 1_000_000, num: 0, units: 1e9 };
      for (const step of [
        { ...base, cost: 100_000_000 },
        { ...base, op: 'put', cost: 60_000_000, receipt },
        { ...base, op: 'record', cost: 150_000_000 },
        { ...base, op: 'look', cost: 500_000_000 },
      ] as const) {
        const [wanted] = memory.apply([step]);
        const told = `second ${i}: ${step.op}`;
        expect({ told, ...(await redis.apply([step]))[0] }).toEqual({ told, ...wanted });
      }
    }
  });

  it('keeps few chunks, and none too long, when nearly all is given back', async () => {
    const clock = new ManualClock(START_US);
    const store = redisStoreAt(client, clock);
    const rule = makeRule('sliding-window-log', 10_000, 60_000_000);
    const base: Step = { op: 'take', limiter: 'log', key: 'ada', rule, cost: 1, binding: true };
    for (let i = 0; i < 2_560; i += 1) {
      clock.setUs(START_US + i);
      await store.apply([base]);
    }
    const name = (await client.keys('*'))[0] as string;
    let stored: Buffer[] = [];
    for (let i = 1; i <= 2_560; i += 1) {
      const receipt = { atUs: START_US + ((i * 7) % 2_560), num: 0, units: 1e9 };
      if (receipt.atUs % 32 > 0) await store.apply([{ ...base, op: 'put', receipt }]);
      if (i % 64 > 0) continue;
      stored = await client.lrangeBuffer(name, 0, -1);
      for (const { length } of stored.slice(0, -2)) expect(length).toBeLessThanOrEqual(64 * 11);
      expect(stored.at(-1)?.length).toBeLessThanOrEqual(1 + 66 * 11);
    }
    expect((await store.apply([{ ...base, op: 'look' }]))[0]).toMatchObject({ used: 80 });
    expect(stored.length).toBeLessThanOrEqual(2 + (4 * 80) / 64);
  });

  it('stores chunks, an index of their last records, and a tail', async () => {
    const clock = new ManualClock();
    const store = redisStoreAt(client, clock);
    const rule = makeRule('sliding-window-log', 1_000, 60_000_000);
    const step: Step = { op: 'take', limiter: 'log', key: 'ada', rule, cost: 3, binding: true };
    const startUs = clock.nowUs();
    const stored = async () => client.lrangeBuffer((await client.keys('*'))[0] as string, 0, -1);
    for (let i = 0; i < 64; i += 1) {
      clock.setUs(startUs + i);
      await store.apply([step]);
    }
    expect((await stored()).map(({ length }) => length)).toEqual([1 + 65 * 11]);
    for (let i = 64; i < 150; i += 1) {
      clock.setUs(startUs + i);
      await store.apply([step]);
    }
    const [first, second, index, tail, ...more] = (await stored()) as [
      Buffer,
      Buffer,
      Buffer,
      Buffer,
    ];
    expect(more).toEqual([]);
    expect(recordsOf(first).at(0)).toEqual([startUs, 3]);
    expect(recordsOf(second).at(-1)).toEqual([startUs + 127, 384]);
    expect(recordsOf(index)).toEqual([recordsOf(first).at(-1), recordsOf(second).at(-1)]);
    expect(tail.toString('latin1', 0, 1)).toBe('2');
    const records = recordsOf(tail.subarray(1));
    expect(records.slice(0, 2)).toEqual([[startUs, 0], recordsOf(index)[0]]);
    expect(records.at(-1)).toEqual([startUs + 149, 450]);
    expect(records).toHaveLength(2 + 150 - 128);
  });
});

function recordsOf(text: Buffer): [us: number, count: number][] {
  return Array.from({ length: text.length / 11 }, (_, i) => [
    text.readUIntBE(i * 11, 1) * 2 ** 48 + text.readUIntBE(i * 11 + 1, 6),
    text.readUInt32BE(i * 11 + 7),
  ]);
}
