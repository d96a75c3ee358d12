/** Thousands of jobs of one key: what a job costs does not grow with the number that wait. */

import { remoteStore } from '@spillway/core/store';
import { fakeTime } from 'spillway-testkit';
import { expect, it } from 'vitest';
import { FarStore, pass, setUp } from './set-up.js';

fakeTime();

const JOBS = 20_000;

it('jobs that must leave a slot to others are passed over at once', {
  timeout: 20_000,
}, async () => {
  const { shaper, starts } = setUp({ limit: 200_000, burst: 10, maxQueue: JOBS });
  // The first slots are for the large jobs, but the small jobs have the higher priority.
  for (let i = 0; i < JOBS / 2; i += 1) starts.schedule(shaper, `${i}`, { cost: 10 });
  for (let i = JOBS / 2; i < JOBS; i += 1) starts.schedule(shaper, `${i}`, { priority: 1 });
  await pass(1_000);
  expect(starts.names).toEqual(Array.from({ length: JOBS }, (_, i) => `${i}`));
});

it('jobs that lost their slots in a pause have new ones when it is over', async () => {
  const store = remoteStore(new FarStore());
  store.delayMs = 5;
  const { shaper, starts } = setUp({ limit: 500, maxQueue: JOBS }, { store, localShare: 1 });
  starts.many(shaper, 500);
  await pass(100);
  void shaper.pause('acme', 500);
  await pass(5_000);
  expect(starts.all).toHaveLength(500);
  const after = starts.ms.filter((ms) => ms > 200);
  expect(after.length).toBeGreaterThan(400);
  // The jobs start at the whole pace from the end of the pause to the last, though an answer takes as long as five
  // slots.
  expect(after[0]).toBeGreaterThanOrEqual(605);
  expect(after.at(-1)).toBeLessThanOrEqual(605 + after.length * 2 + 20);
});

it('a store that refuses is not asked for all slots that are missing', async () => {
  const store = remoteStore(new FarStore());
  store.delayMs = 5;
  const settings = { store, localShare: 1 };
  const { shaper, starts } = setUp({ limit: 10, maxWait: '10s', maxQueue: JOBS }, settings);
  starts.many(shaper, 100);
  await pass(100);
  void shaper.pause('acme', '9s');
  await pass(30_000);
  // Jobs that cannot start in time after the pause are rejected.
  expect(starts.all.length).toBeGreaterThanOrEqual(10);
  expect(starts.all.length + starts.errors.length).toBe(100);
  // One take for each job, one more for each that lost its slot, and one that the store rejects.
  expect(store.count('take')).toBeLessThan(100 + 2 * 99);
});

it('a job may schedule the next one, with a large burst, as often as it likes', async () => {
  const { shaper } = setUp({ limit: 100_000, burst: 50_000 });
  const errors: unknown[] = [];
  let count = 0;
  const next = (): void => {
    count += 1;
    if (count < 2 * JOBS) shaper.schedule('acme', next).catch((error) => errors.push(error));
  };
  next();
  await pass(1_000);
  expect(errors).toEqual([]);
  expect(count).toBe(2 * JOBS);
});
