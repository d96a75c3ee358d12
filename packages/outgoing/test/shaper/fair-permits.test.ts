/** How evenly the processes of a fleet share permits in long runs, and how many of the permits they use. */

import type { Shaper } from '@spillway/outgoing';
import { fakeTime, seeded } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';
import { fleetOf } from './runs.js';
import { pass } from './set-up.js';

fakeTime();

describe('a fleet with maxConcurrent', () => {
  it.each([
    { permits: 3, processes: 8, ms: 30, jobs: 60 },
    { permits: 3, processes: 8, ms: 100, jobs: 60 },
    { permits: 3, processes: 8, ms: 400, jobs: 60 },
    { permits: 3, processes: 8, ms: 2_000, jobs: 30 },
    { permits: 50, processes: 2, ms: 100, jobs: 1_000 },
    { permits: 50, processes: 1, ms: 100, jobs: 1_000 },
  ])(
    'uses 94 % of $permits permits, and $processes processes start soon: jobs of $ms ms',
    async ({ permits, processes, ms, jobs }) => {
      const random = seeded(ms);
      const options = { maxConcurrent: permits, maxWait: '2h', maxQueue: 10_000 };
      const settings = { random: () => random.uniform(), storeTimeout: '1s' } as const;
      const { shapers, stores, runs } = fleetOf(processes, options, settings);
      for (const store of stores) store.delayMs = 1;
      for (const [at, shaper] of shapers.entries())
        runs.runMany(shaper, jobs, { ms, name: `${at}` });
      const count = processes * jobs;
      // Each job also waits for the store.
      const idealMs = (count * (ms + 2)) / permits;
      await pass(2 * idealMs);
      expect(runs.most).toBe(permits);
      expect(runs.all).toHaveLength(count);
      expect(idealMs / (Math.max(...runs.ms) + ms)).toBeGreaterThanOrEqual(0.94);
      const firsts = shapers.map((_, at) => runs.ms[runs.names.indexOf(`${at}`)] ?? Infinity);
      expect(Math.max(...firsts)).toBeLessThan(Math.max(5_000, 4 * ms));
    },
  );

  it.each([
    { ms: 30, nearMs: 1, farMs: 1 },
    { ms: 60, nearMs: 1, farMs: 1 },
    { ms: 100, nearMs: 0, farMs: 5 },
    { ms: 200, nearMs: 0, farMs: 5 },
    { ms: 200, nearMs: 1, farMs: 1 },
    { ms: 400, nearMs: 1, farMs: 1 },
  ])(
    'lets no process wait 5 s longer than another for its first start: jobs of $ms ms, $nearMs to $farMs ms to the store',
    async ({ ms, nearMs, farMs }) => {
      for (let seed = 0; seed < 6; seed += 1) {
        const random = seeded(seed);
        const settings = { random: () => random.uniform(), storeTimeout: '1s' } as const;
        const options = { maxConcurrent: 3, maxWait: '2h', maxQueue: 10_000 };
        const { shapers, stores, runs } = fleetOf(8, options, settings);
        for (const [at, store] of stores.entries()) {
          store.delayMs = nearMs + (at % (farMs - nearMs + 1));
        }
        for (const [at, shaper] of shapers.entries()) {
          runs.runMany(shaper, 6_000 / ms, { ms, name: `${at}` });
        }
        await pass(7_000);
        const firsts = shapers.map((_, at) => runs.ms[runs.names.indexOf(`${at}`)] ?? Infinity);
        expect(Math.max(...firsts) - Math.min(...firsts)).toBeLessThanOrEqual(5_000);
        expect(runs.most).toBe(3);
        vi.clearAllTimers(); // or this fleet also runs during the next one
      }
    },
  );

  it.each([
    { permits: 1, ms: 30, longest: 5_000, takesPerS: 240 },
    { permits: 1, ms: 200, longest: 15_000, takesPerS: 240 },
    { permits: 3, ms: 200, longest: 6_000, takesPerS: 270 },
    { permits: 3, ms: 400, longest: 7_000, takesPerS: 180 },
  ])(
    'lets no process wait long after one job of 40 s: $permits permits, other jobs of $ms ms',
    async ({ permits, ms, longest, takesPerS }) => {
      for (let seed = 0; seed < 2; seed += 1) {
        const random = seeded(seed);
        const settings = { random: () => random.uniform() };
        const options = { maxConcurrent: permits, maxWait: '2h', maxQueue: 10_000 };
        const { shapers, stores, runs } = fleetOf(8, options, settings);
        runs.run(shapers[0] as Shaper, '0', 40_000);
        await pass(0);
        for (const [at, shaper] of shapers.entries()) {
          runs.runMany(shaper, 65_000 / ms, { ms, name: `${at}` });
        }
        await pass(65_000);
        const waits = shapers.map((_, at) => {
          const starts = runs.all.filter((start) => start.name === `${at}` && start.ms > 40_000);
          const times = [40_000, ...starts.map((start) => start.ms), 65_000];
          return Math.max(...times.slice(1).map((time, i) => time - (times[i] as number)));
        });
        expect(Math.max(...waits)).toBeLessThan(longest);
        const takes = stores.map((store) => store.count('take'));
        expect(takes.reduce((sum, own) => sum + own) / 65).toBeLessThan(takesPerS);
        const shortMs = runs.all.length * ms;
        expect((40_000 + shortMs) / (permits * 65_000)).toBeGreaterThan(0.95);
        vi.clearAllTimers();
      }
    },
  );

  it('keeps a booked permit until a slot is due, if the jobs also have a pace', async () => {
    const pace = { limit: 12, window: '1s' } as const;
    for (let seed = 0; seed < 3; seed += 1) {
      const random = seeded(seed);
      const settings = { random: () => random.uniform(), storeTimeout: '1s' } as const;
      const options = { maxConcurrent: 3, maxWait: '2h', maxQueue: 10_000, ...pace };
      const { shapers, stores, runs } = fleetOf(6, options, settings);
      for (const store of stores) store.delayMs = 1;
      for (const [at, shaper] of shapers.entries()) {
        for (let i = 0; i < 150; i += 1) {
          runs.run(shaper, `${at}`, 150 + 300 * random.uniform());
        }
      }
      await pass(40_000);
      for (const at of shapers.keys()) {
        const starts = runs.all.filter(({ name }) => name === `${at}`).map(({ ms }) => ms);
        const gaps = [...starts, 40_000].map((ms, i) => ms - (starts[i - 1] ?? 0));
        expect(Math.max(...gaps)).toBeLessThan(5_000);
      }
      expect(runs.most).toBe(3);
      vi.clearAllTimers();
    }
  });

  it.each([4, 20])(
    'also gives slots to the process farthest from the store: %i per second',
    async (limit) => {
      const options = { limit, window: '1s', maxConcurrent: 10, maxWait: '1h', maxQueue: 10_000 };
      const { shapers, stores, runs } = fleetOf(4, options, { storeTimeout: '1s' });
      for (const [at, store] of stores.entries()) store.delayMs = at === 0 ? 4 : 1;
      for (const [at, shaper] of shapers.entries())
        runs.runMany(shaper, 10 * limit, { ms: 50, name: `${at}` });
      await pass(20_000);
      expect(runs.all.length).toBeGreaterThanOrEqual(20 * limit);
      for (const at of shapers.keys()) {
        const starts = runs.all.filter(({ name }) => name === `${at}`).map(({ ms }) => ms);
        const gaps = [...starts, 20_000].map((ms, i) => ms - (starts[i - 1] ?? 0));
        expect(Math.max(...gaps)).toBeLessThan(3_000);
      }
    },
  );
});
