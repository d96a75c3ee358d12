/**
 * No step on a sliding log of 100,000 entries takes Redis more than a fifth of the time of one walk over all entries,
 * whatever cost a client chooses.
 */

import type { Step } from '@spillway/core';
import { makeRule } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { Redis } from 'ioredis';
import { type RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisStoreAt } from '../src/testing.js';

const ENTRIES = 100_000;
const WINDOW_US = 1_000_000_000;
const START_US = 1_767_225_600_000_000;
/** One entry every 5 ms: at the end the oldest is half a window old. */
const GAP_US = WINDOW_US / 2 / ENTRIES;
const END_US = START_US + ENTRIES * GAP_US;
const RUNS = 9;

/** Reads every entry once, as a log without an index must. */
const WALK = `
  for _, text in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
    for at = 1, #text, 11 do string.byte(text, at, at + 10) end
  end`;

const rule = makeRule('sliding-window-log', ENTRIES, WINDOW_US);

function step(op: Step['op'], cost: number, entry?: number): Step {
  const base: Step = { op, limiter: 'log', key: 'ada', rule, cost, binding: true };
  return entry === undefined
    ? base
    : { ...base, receipt: { atUs: START_US + entry * GAP_US, num: 0, units: 1e9 } };
}

describe.skipIf(redisProgram === null)('a sliding log of 100,000 entries', () => {
  const clock = new ManualClock(START_US);
  let server: RedisServer;
  let client: Redis;
  let store: ReturnType<typeof redisStoreAt>;
  let key: string;
  let walkUs: number;

  beforeAll(async () => {
    server = await startServer();
    client = new Redis(server.port);
    store = redisStoreAt(client, clock);
    await fill();
    [key] = (await client.keys('*')) as [string];
    await client.copy(key, 'full');
    walkUs = await leastUs(() => client.eval(WALK, 1, 'full'));
  }, 120_000);
  afterAll(async () => {
    client?.disconnect();
    await server?.kill();
  });

  /** Takes one unit at each instant. A store has one clock, so the takes of one turn need a store each. */
  async function fill(): Promise<void> {
    const askers = Array.from({ length: 200 }, () => {
      const own = new ManualClock();
      return { own, store: redisStoreAt(client, own) };
    });
    for (let i = 0; i < ENTRIES; i += askers.length) {
      const takes = askers.map(({ own, store }, at) => {
        own.setUs(START_US + (i + at) * GAP_US);
        return store.apply([step('take', 1)]);
      });
      await Promise.all(takes);
    }
  }

  /** How long Redis ran the scripts of `call`, in microseconds: the least of several runs on a shared processor. */
  async function leastUs(call: () => Promise<unknown>): Promise<number> {
    let least = Number.POSITIVE_INFINITY;
    for (let run = 0; run < RUNS; run += 1) {
      await client.copy('full', key, 'REPLACE');
      await client.config('RESETSTAT');
      await call();
      const stats = await client.info('commandstats');
      // A reset reads the list of limiters first.
      const [, us] = /cmdstat_eval(?:sha)?:calls=[12],usec=(\d+)/.exec(stats) ?? [];
      least = Math.min(least, Number(us ?? Number.NaN));
    }
    return least;
  }

  it('holds so many', async () => {
    clock.setUs(END_US);
    const [look] = await store.apply([step('look', 1)]);
    expect(look).toMatchObject({ used: ENTRIES, freesUs: START_US });
    const bytes = await client.call('MEMORY', 'USAGE', key, 'SAMPLES', '0');
    expect(Number(bytes) / ENTRIES).toBeLessThan(14);
  });

  it.each([
    ['refuses 1', END_US, step('take', 1)],
    ['refuses half of all', END_US, step('take', ENTRIES / 2)],
    ['refuses all', END_US, step('take', ENTRIES)],
    ['looks', END_US, step('look', 1)],
    ['looks at the cost of all', END_US, step('look', ENTRIES)],
    ['records 1', END_US, step('record', 1)],
    ['records half of all', END_US, step('record', ENTRIES / 2)],
    ['records all', END_US, step('record', ENTRIES)],
    ['gives back the newest', END_US, step('put', 1, ENTRIES - 1)],
    ['gives back one of the middle', END_US, step('put', 1, ENTRIES / 2)],
    ['gives back the oldest', END_US, step('put', 1, 0)],
    ['gives back what is not there', END_US, step('put', 1, 0.5)],
    ['looks when half has expired', END_US + (3 * WINDOW_US) / 4, step('look', 1)],
    ['refuses when half has expired', END_US + (3 * WINDOW_US) / 4, step('take', ENTRIES)],
    ['grants when half has expired', END_US + (3 * WINDOW_US) / 4, step('take', 1)],
    ['records when half has expired', END_US + (3 * WINDOW_US) / 4, step('record', ENTRIES)],
    ['looks when all but one have expired', END_US + WINDOW_US - GAP_US - 1, step('look', 1)],
    ['grants when all but one have expired', END_US + WINDOW_US - GAP_US - 1, step('take', 1)],
    ['looks when all have expired', END_US + WINDOW_US, step('look', 1)],
    ['grants when all have expired', END_US + WINDOW_US, step('take', 1)],
    ['resets', END_US, step('reset', 1)],
  ])('%s in a fifth of the time of a walk', async (_, nowUs, asked) => {
    clock.setUs(nowUs);
    expect(await leastUs(() => store.apply([asked]))).toBeLessThan(walkUs / 5);
  });
});
