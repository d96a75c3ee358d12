/** Renewals and releases belong to no request: they may be slow, and close waits for them. */

import { concurrencyLimit, createGuard } from '@spillway/core';
import { remoteStore, systemClock } from '@spillway/core/store';
import { fakeTime, request } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';
import { FarStore, setUp } from './far-store.js';

describe('a renewal', () => {
  fakeTime();

  it('that is overtaken by the release of its permit leaves nothing held', async () => {
    const { store, guard, take } = setUp();
    const [one] = await take(1);
    store.delayMs.record = 3_000;
    while (store.count('record') === 0) await vi.advanceTimersByTimeAsync(100);
    one?.release({});
    await vi.advanceTimersByTimeAsync(1_000);
    expect(store.held).toBe(0);
    // Now the renewal takes the permit once more, and it is released once more.
    await vi.advanceTimersByTimeAsync(3_000);
    expect(store.count('put')).toBe(2);
    expect(store.held).toBe(0);
    expect(guard.inProgress).toBe(0);
  });

  it('has the time to the next one as its deadline, and the breaker does not hear of it', async () => {
    const { store, guard, take, breaker } = setUp();
    await take(50);
    store.delayMs.record = 1e9;
    await vi.advanceTimersByTimeAsync(60_000);
    const renewals = store.asked.filter(({ step }) => step.op === 'record');
    expect(renewals.length).toBeGreaterThanOrEqual(100);
    for (const { options } of renewals) {
      expect(options?.background).toBe(true);
      expect((options?.deadlineUs ?? 0) - systemClock.nowUs()).toBeLessThanOrEqual(15_000_000);
    }
    expect(breaker).toEqual([]);
    expect(guard.inProgress).toBe(50);
  });

  it('that fails for one permit fails for no other', async () => {
    const { store, take } = setUp();
    await take(20);
    const { apply } = store;
    let victim: string | undefined;
    store.apply = (steps, options) => {
      const [step] = steps;
      if (step?.op === 'record') victim ??= step.lease?.id;
      return step?.op === 'record' && step.lease?.id === victim
        ? Promise.reject(new Error('this one'))
        : apply.call(store, steps, options);
    };
    await vi.advanceTimersByTimeAsync(120_000);
    expect(store.held).toBe(19);
  });
});

describe('releases', () => {
  fakeTime();

  it('of thousands at once do not open the breaker when the store is slow to take them', async () => {
    const { store, take, breaker } = setUp();
    const all = await take(80);
    store.delayMs.put = 500;
    for (const one of all) one.release({});
    await vi.advanceTimersByTimeAsync(2_000);
    expect(breaker).toEqual([]);
    expect(store.held).toBe(0);
    expect(store.count('put')).toBe(80);
  });
});

it('close gives 20,000 permits back, a part at a time, and waits for the last', async () => {
  const store = remoteStore(new FarStore());
  const limit = concurrencyLimit({ name: 'many', limit: 100_000, key: ({ path }) => path });
  const guard = createGuard(limit, { store, logger: false });
  for (let i = 0; i < 20_000; i += 1) await guard.admit(request({ path: `/${i % 500}` }));
  let [under, most] = [0, 0];
  const { apply } = store;
  store.apply = async (steps, options) => {
    under += 1;
    most = Math.max(most, under);
    await new Promise((resolve) => setTimeout(resolve, 5));
    under -= 1;
    return apply.call(store, steps, options);
  };
  await guard.close();
  expect([under, most <= 512, guard.inProgress, store.memory.size]).toEqual([0, true, 0, 0]);
});

describe('close', () => {
  fakeTime();

  it.each(['rejects', 'is silent'])('is done within 5 s though the store %s', async (how) => {
    const { store, guard, take } = setUp({ breaker: false });
    await take(60);
    store.delayMs.record = 1e9;
    await vi.advanceTimersByTimeAsync(10_000); // some renewals are in flight
    if (how === 'rejects') store.down = true;
    else store.delayMs.put = 1e9;
    let done = false;
    const closed = guard.close().then(() => {
      done = true;
    });
    await vi.advanceTimersByTimeAsync(5_100);
    expect(done).toBe(true);
    await closed;
  });

  it('waits for a renewal that is under way, and gives back what that took once more', async () => {
    const { store, guard, take } = setUp();
    await take(3);
    store.delayMs.record = 2_000;
    while (store.count('record') < 3) await vi.advanceTimersByTimeAsync(100);
    const closed = guard.close();
    await vi.advanceTimersByTimeAsync(3_000);
    await closed;
    expect(store.held).toBe(0);
  });

  it('gives back what was lost before', async () => {
    const { store, guard, take } = setUp({ breaker: false });
    const all = await take(3);
    store.down = true;
    for (const one of all) one.release({});
    await vi.advanceTimersByTimeAsync(0);
    store.down = false;
    await guard.close();
    expect(store.held).toBe(0);
  });
});
