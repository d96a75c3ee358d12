/** Leases: held while the request runs, and free again whatever happens. */

import {
  type Admission,
  concurrencyLimit,
  createGuard,
  type Limiter,
  rateLimit,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import type { ManualClock } from '@spillway/core/testing';
import { DeafStore, fakeTime, held, MuteStore, request } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';
import { setUp } from './guard-set-up.js';

const two = concurrencyLimit({ name: 'two', limit: 2, random: () => 0.5 });
const perMinute = rateLimit({ name: 'rate', limit: 3, window: '1m' });

describe('leases over time', () => {
  fakeTime();

  /** Moves the store's clock and the timers together. */
  function pass(clock: ManualClock, seconds: number): void {
    for (let second = 0; second < seconds; second += 1) {
      clock.advance('1s');
      vi.advanceTimersByTime(1_000);
    }
  }

  it('are renewed as long as a request runs', () => {
    const { admit, clock, store } = setUp(two);
    const stream = admit();
    pass(clock, 3_600);
    expect(held(store)).toBe(1);
    stream.release({ status: 200 });
    expect(held(store)).toBe(0);
  });

  it('expire when their process is gone', () => {
    const { admit, clock, store } = setUp(two);
    admit();
    vi.clearAllTimers(); // as a crash does
    pass(clock, 59);
    expect(held(store)).toBe(1);
    pass(clock, 1);
    expect(held(store)).toBe(0);
  });

  it('share one timer, which ends when nothing is in progress', () => {
    const { admit, clock } = setUp(two);
    const requests = [admit(), admit({ clientIp: '203.0.113.8' })];
    expect(vi.getTimerCount()).toBe(1);
    for (const one of requests) one.release({});
    pass(clock, 21);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('are renewed again after a pause', () => {
    const { admit, clock, store } = setUp(two);
    admit().release({});
    pass(clock, 100);
    admit();
    pass(clock, 100);
    expect(held(store)).toBe(1);
  });

  it('are given back by close, and their renewal ends', async () => {
    const { admit, guard, store } = setUp(two);
    const stream = admit();
    admit();
    await guard.close();
    expect(held(store)).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
    stream.release({}); // late, and harmless
    expect(held(store)).toBe(0);
  });
});

describe('leases and a store that comes back', () => {
  fakeTime();

  it('are given back with the next renewals where the release was lost', async () => {
    const store = remoteStore(new DeafStore());
    const guard = createGuard(two, { store });
    const admission = await guard.admit(request());
    store.deaf = true;
    await admission.release({ status: 200 });
    expect(held(store.memory)).toBe(1);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(held(store.memory)).toBe(1);
    store.deaf = false;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(held(store.memory)).toBe(0);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('are given back in time, however long the lease', async () => {
    const store = remoteStore(new DeafStore());
    const limiter = concurrencyLimit({ name: 'two', limit: 2, lease: '24h' });
    const admission = await createGuard(limiter, { store }).admit(request());
    store.deaf = true;
    await admission.release({ status: 200 });
    store.deaf = false;
    await vi.advanceTimersByTimeAsync(40_000);
    expect(held(store.memory)).toBe(0);
  });

  it('are no longer given back when they have expired', async () => {
    const store = remoteStore(new DeafStore());
    const guard = createGuard(two, { store, breaker: false });
    const admission = await guard.admit(request());
    store.deaf = true;
    await admission.release({});
    await vi.advanceTimersByTimeAsync(80_000);
    expect(store.unheard).toBe(3); // a third attempt would come after the lease has ended
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('leases and a store that fails', () => {
  const open = (limiters: Limiter | readonly Limiter[], options = {}) => {
    const store = remoteStore(new MuteStore());
    const guard = createGuard(limiters, { store, ...options });
    const admit = async (): Promise<Admission> => guard.admit(request());
    return { store, admit, guard };
  };

  it('are given back though nobody knew that they were held', async () => {
    const { store, admit } = open(two);
    store.mute = true;
    const admission = await admit();
    expect(admission).toMatchObject({ allowed: true, pending: true });
    expect(held(store.memory)).toBe(1);
    admission.release({});
    expect(held(store.memory)).toBe(0);
  });

  it('are given back at once where the request is refused for it', async () => {
    const { store, admit } = open(two, { onStoreError: 'deny' });
    store.mute = true;
    expect(await admit()).toMatchObject({ allowed: false, status: 503, pending: false });
    expect(held(store.memory)).toBe(0);
  });

  it('are given back where the store let a request pass and a broken limiter did not', async () => {
    const broken = Object.assign(Object.create(perMinute) as Limiter, {
      decide: () => {
        throw new Error('bug');
      },
    });
    const { store, admit } = open([two, broken], { onStoreError: 'deny' });
    expect(await admit()).toMatchObject({ allowed: false, status: 503 });
    expect(held(store.memory)).toBe(0);
  });

  it('are with the store when close is done, those too that were just released', async () => {
    const { store, admit, guard } = open(two);
    const admission = await admit();
    let answered = false;
    const { apply } = store;
    store.apply = async (steps) => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      const answers = await apply.call(store, steps);
      answered = true;
      return answers;
    };
    admission.release({});
    await guard.close();
    expect(answered).toBe(true);
  });

  it('count in this process with onStoreError local, also what came before', async () => {
    const { store, admit } = open(two, { onStoreError: 'local' });
    const first = await admit();
    store.mute = true;
    const second = await admit();
    expect(second).toMatchObject({ allowed: true, decisions: [{ outcome: 'error' }] });
    expect(await admit()).toMatchObject({ allowed: false, status: 429 });
    first.release({});
    expect((await admit()).allowed).toBe(true);
  });
});
