/** A shaper keeps its promise: a job that it accepted starts within `maxWait`, whatever its priority. */

import type { Fault } from '@spillway/core';
import { createShaper, type Shaper, type ShaperOptions } from '@spillway/outgoing';
import { fakeTime, type Random, seeded } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';
import { FOUR, pass, Starts, setUp, twoProcesses } from './set-up.js';

fakeTime();

describe('a job of low priority', () => {
  it('starts within maxWait under a stream of high priority, and nobody who was accepted is rejected', async () => {
    const { shaper, starts } = setUp({ limit: 20, maxWait: '2s' });
    starts.many(shaper, 10, { priority: 1 });
    starts.schedule(shaper, 'low');
    for (let ms = 0; ms < 5_000; ms += 25) {
      starts.schedule(shaper, `high ${ms}`, { priority: 1 });
      await pass(25);
    }
    await pass(3_000);
    const low = starts.all.find(({ name }) => name === 'low');
    expect(low?.ms).toBeGreaterThan(1_000);
    expect(low?.ms).toBeLessThanOrEqual(2_000);
    expect(starts.codes.every((code) => code === 'SPW_SHAPER_WAIT')).toBe(true);
    // Twice as many jobs came as may start, so the pace is used in full until 2 s after the last came.
    expect(starts.all).toHaveLength(20 * (5 + 2));
  });

  it('is overtaken as long as it can start in time', async () => {
    const { shaper, starts } = setUp({ maxWait: '1s' });
    starts.schedule(shaper, 'at once');
    starts.schedule(shaper, 'low');
    for (const name of ['a', 'b', 'c']) starts.schedule(shaper, name, { priority: 1 });
    await pass(250);
    for (const name of ['d']) starts.schedule(shaper, name, { priority: 1 });
    await pass(2_000);
    expect(starts.names).toEqual(['at once', 'a', 'b', 'c', 'low', 'd']);
  });
});

describe('a function for random numbers', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error('mine');
      },
    ],
    ['gives no number', () => Number.NaN],
    ['gives a promise that rejects', (() => Promise.reject(new Error('mine'))) as never],
    ['gives less than 0', () => -5],
    ['gives more than 1', () => 1e9],
  ])('that %s is a fault, and no job waits longer', async (_, random) => {
    const faults: Fault[] = [];
    const pace: ShaperOptions = { name: 'calls', maxConcurrent: 1 };
    const shaper = createShaper(pace, { random, onFault: (fault) => faults.push(fault) });
    const started: string[] = [];
    for (const name of ['a', 'b']) {
      void shaper.schedule('acme', async () => {
        started.push(name);
        await pass(100);
      });
    }
    await pass(1_000);
    expect(started).toEqual(['a', 'b']);
    expect(faults[0]).toMatchObject({ limiter: 'calls', source: 'observer' });
  });
});

describe('waitOf', () => {
  it('tells the wait of a job of that priority', async () => {
    const { shaper, starts } = setUp();
    starts.schedule(shaper, 'at once');
    for (const priority of [0, 2, 0, 1]) starts.schedule(shaper, `${priority}`, { priority });
    const waits = [3, 2, 1, 0, -1].map((priority) => shaper.waitOf('acme', { priority }));
    expect(await Promise.all(waits)).toEqual([250, 500, 750, 1250, 1250]);
    expect(await shaper.waitOf('acme')).toBe(1250);
  });

  it('tells the same however many jobs wait', async () => {
    const { shaper, starts } = setUp({ limit: 100, maxWait: '1m', maxQueue: 5_000 });
    starts.many(shaper, 3_000);
    expect(await shaper.waitOf('acme', { priority: 1 })).toBe(10);
  });

  it('tells that nobody can be overtaken any more', async () => {
    const { shaper, starts } = setUp({ maxWait: '1s' });
    starts.many(shaper, 5);
    expect(await shaper.waitOf('acme', { priority: 1 })).toBe(1250);
    await pass(250);
    expect(await shaper.waitOf('acme', { priority: 1 })).toBe(1000);
    starts.schedule(shaper, 'high', { priority: 1 });
    await pass(2_000);
    expect(starts.all.at(-1)).toEqual({ name: 'high', ms: 1250 });
  });

  it('tells of a slot that this process has left', async () => {
    const { here, there } = twoProcesses();
    await here.reserve('acme');
    const left = await here.reserve('acme');
    await there.reserve('acme');
    if (left.allowed) left.cancel();
    await pass(0);
    expect(await here.waitOf('acme')).toBe(250);
    expect(await there.waitOf('acme')).toBe(750);
  });

  it('rejects what is no priority', async () => {
    const { shaper } = setUp();
    await expect(shaper.waitOf('a', { priority: Number.NaN })).rejects.toThrow(/priority must be/);
    await expect(shaper.waitOf('a', { cost: 1 } as never)).rejects.toThrow(/SPW_OPTION_UNKNOWN/);
  });
});

/** Everything that happens to one job. */
interface Told {
  readonly priority: number;
  readonly cost: number;
  readonly atMs: number;
  refusedMs?: number;
  startMs?: number;
  abortMs?: number;
}

interface World {
  readonly seed: number;
  readonly costs: number;
  readonly aborts: boolean;
  readonly pauses: boolean;
  readonly reserves: boolean;
  readonly shapers: number;
  /** How many jobs come for each one that may start. */
  readonly load: number;
}

const RATE = 20;
const PERIOD_MS = 1_000 / RATE;
const MAX_WAIT_MS = 1_500;
/** How late a start may be: a slot may be missed by 50 ms, and timers count whole milliseconds. */
const LATE_MS = 52;

async function play({ seed, costs, aborts, pauses, reserves, shapers, load }: World) {
  const random: Random = seeded(seed);
  const any = (count: number): number => Math.floor(random.uniform() * count);
  const { here, there } = twoProcesses({
    ...FOUR,
    limit: RATE,
    burst: costs,
    maxWait: MAX_WAIT_MS,
  });
  const all = [here, there].slice(0, shapers);
  const time = new Starts();
  const jobs: Told[] = [];
  let settled = 0;
  const schedule = (shaper: Shaper): void => {
    const job: Told = { priority: any(4), cost: 1 + any(costs), atMs: time.nowMs };
    const abort = new AbortController();
    jobs.push(job);
    const work = (): void => {
      job.startMs = time.nowMs;
    };
    const { priority, cost } = job;
    shaper
      .schedule('acme', work, { priority, cost, signal: abort.signal })
      .catch(() => {
        if (!abort.signal.aborted) job.refusedMs = time.nowMs;
        else job.abortMs = time.nowMs;
      })
      .finally(() => {
        settled += 1;
      });
    if (aborts && any(4) === 0) setTimeout(() => abort.abort(), any(1_500));
  };
  const reserve = async (shaper: Shaper): Promise<void> => {
    const reservation = await shaper.reserve('acme', { cost: 1 + any(costs) });
    if (reservation.allowed && any(2) === 0) setTimeout(reservation.cancel, any(1_000));
  };
  const mean = (1 + costs) / 2;
  for (let i = 0; i < 300; i += 1) {
    const shaper = all[any(shapers)] as Shaper;
    if (pauses && any(60) === 0) void shaper.pause('acme', any(2_500));
    if (reserves && any(12) === 0) void reserve(shaper);
    schedule(shaper);
    await pass(any((2 * PERIOD_MS * mean) / load));
  }
  await pass(2 * MAX_WAIT_MS);
  expect(settled).toBe(jobs.length);
  await Promise.all([here.close(), there.close()]);
  expect(vi.getTimerCount()).toBe(0);
  return jobs;
}

const worlds = Array.from({ length: 40 }, (_, seed): World => {
  const bit = (at: number): boolean => ((seed >> at) & 1) === 1;
  const costs = bit(0) ? 3 : 1;
  const shapers = bit(3) ? 2 : 1;
  return { seed, costs, aborts: bit(1), pauses: bit(2), reserves: bit(4), shapers, load: 1.4 };
});

describe.each(worlds)(
  '$seed: costs to $costs, aborts $aborts, pauses $pauses, reserves $reserves, $shapers',
  (world) => {
    it('nobody waits longer than maxWait, and who was accepted starts', async () => {
      const jobs = await play(world);
      const late = jobs.filter(({ atMs, startMs, refusedMs }) => {
        return (startMs ?? refusedMs ?? 0) - atMs > MAX_WAIT_MS + LATE_MS;
      });
      expect(late).toEqual([]);
      const started = jobs.filter((job) => job.startMs !== undefined);
      expect(started.length).toBeGreaterThan(30);
      // Accepted, and rejected later.
      const broken = jobs.filter(({ atMs, refusedMs = atMs }) => refusedMs > atMs);
      if (!world.pauses) expect(broken).toEqual([]);
      const byTime = started.sort(
        (one, other) => (one.startMs as number) - (other.startMs as number),
      );
      for (const [from, first] of byTime.entries()) {
        let units = 0;
        for (const { startMs = 0, cost } of byTime.slice(from)) {
          units += cost;
          const most = world.costs + (startMs - (first.startMs as number) + 1) / PERIOD_MS;
          if (units > most + 1e-6)
            throw new Error(`${units} units within ${startMs} from ${first.startMs}`);
        }
      }
    });
  },
);
