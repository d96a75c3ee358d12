/** Permits during outages of the store: lost releases are sent again once, in time, and within bounds. */

import {
  type Admission,
  concurrencyLimit,
  createGuard,
  type Duration,
  memoryStore,
  type StoredLimiter,
} from '@spillway/core';
import { makeClaimsRule, systemClock } from '@spillway/core/store';
import { fakeTime, held, request } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';
import { setUp } from './far-store.js';

describe('an outage', () => {
  fakeTime();

  it('ends with it: what could not be given back is free, and what runs on is held, at once', async () => {
    const { store, guard, take, breaker, comeBack } = setUp();
    const [ending, staying] = [await take(30), await take(30)];
    store.down = true;
    const unknown = await take(10);
    expect(breaker).toMatchObject([{ state: 'open' }]);
    for (const one of ending) one.release({});
    await vi.advanceTimersByTimeAsync(1_500);
    expect(store.held).toBe(60);
    await comeBack();
    expect(breaker).toMatchObject([{ state: 'open' }, { state: 'closed' }]);
    // Including the requests that were let pass meanwhile.
    expect(guard.inProgress).toBe(staying.length + unknown.length);
    expect(store.held).toBe(guard.inProgress);
  });

  it('that took the data with it ends with all that runs on registered again', async () => {
    const { store, guard, take, comeBack } = setUp();
    await take(40);
    store.down = true;
    await take(6);
    store.memory = memoryStore({ clock: systemClock });
    await comeBack();
    expect(store.held).toBe(guard.inProgress);
    expect(guard.inProgress).toBe(46);
  });

  it('that comes again at once does not make all be renewed once more, but what failed in it', async () => {
    const { store, guard, take, comeBack, breaker } = setUp();
    const running = await take(80);
    // At a time when renewals are due, so some fail in each outage.
    await vi.advanceTimersByTimeAsync(10_000);
    const before = store.arrived('record');
    for (let outage = 0; outage < 6; outage += 1) {
      store.down = true;
      for (const one of await take(6)) one.release({});
      await vi.advanceTimersByTimeAsync(500);
      await comeBack();
    }
    expect(breaker.length).toBe(12);
    expect(store.arrived('record') - before).toBeGreaterThanOrEqual(running.length);
    expect(store.arrived('record') - before).toBeLessThanOrEqual(2.5 * running.length);
    expect(guard.inProgress).toBe(running.length);
    expect(store.held).toBe(running.length);
  });

  it('does not count a permit again that is released while its renewal fails', async () => {
    const { store } = setUp();
    const limit = concurrencyLimit({ name: 'few', limit: 1, key: 'all', lease: '3s' });
    const guard = createGuard(limit, { store, logger: false });
    const first = await guard.admit(request());
    store.delayMs.record = 100;
    while (store.count('record') === 0) await vi.advanceTimersByTimeAsync(50);
    store.down = true;
    first.release({});
    await vi.advanceTimersByTimeAsync(150);
    const second = await guard.admit(request());
    expect(second.decisions).toMatchObject([{ allowed: true, outcome: 'error' }]);
    // While that request runs, there is no other permit.
    expect(await guard.admit(request())).toMatchObject({ allowed: false });
  });

  describe('of a store with thousands of permits', () => {
    async function setUpMany(count: number, lease: Duration = '60s') {
      const all = setUp();
      const limit = concurrencyLimit({ name: 'lots', limit: 9_000, key: 'all', lease });
      const lots = createGuard(limit, { store: all.store, logger: false });
      for (let i = 0; i < count; i += 1) await lots.admit(request());
      const goDown = async () => {
        all.store.down = true;
        for (const one of await all.take(6)) one.release({});
      };
      return { ...all, goDown };
    }

    it('is followed by no more at once than the store has answered', async () => {
      const { store, goDown, comeBack } = await setUpMany(3_000);
      await goDown();
      store.delayMs.record = 50;
      await comeBack();
      // At most in 600 ms: 256 in 50 ms, then a pause of the same length.
      expect(store.count('record')).toBeGreaterThan(2 * 256);
      expect(store.count('record')).toBeLessThanOrEqual(7 * 256);
      await vi.advanceTimersByTimeAsync(2_000);
      expect(store.count('record')).toBeGreaterThanOrEqual(3_000);
    });

    it('slows renewals down only until each lease is renewed: more are due than at that pace', async () => {
      const { store, goDown, comeBack } = await setUpMany(800, '4s');
      await goDown();
      // 256 in each 1.6 s would renew each lease once in 5 s.
      store.delayMs.record = 800;
      await comeBack();
      await vi.advanceTimersByTimeAsync(6_000);
      for (let check = 0; check < 6; check += 1) {
        await vi.advanceTimersByTimeAsync(250);
        expect(held(store.memory, 'lots', 'all')).toBe(800);
      }
    });

    it('may begin again while they are renewed: those that failed are renewed first when it ends', async () => {
      const { store, goDown, comeBack } = await setUpMany(1_000);
      await goDown();
      store.memory = memoryStore({ clock: systemClock });
      store.delayMs.record = 400;
      await comeBack();
      await goDown();
      await vi.advanceTimersByTimeAsync(1_000);
      expect(held(store.memory, 'lots', 'all')).toBeLessThan(600);
      store.delayMs.record = 0;
      await comeBack();
      expect(held(store.memory, 'lots', 'all')).toBe(1_000);
    });
  });

  it('is not asked after by releases one by one: nobody answers, so the rest is not tried', async () => {
    const { store, take, breaker } = setUp({ breaker: false });
    const all: Admission[] = [];
    for (let i = 0; i < 20; i += 1) all.push(...(await take(90)).filter(({ allowed }) => allowed));
    store.down = true;
    const more = await take(2_000);
    for (const one of more) one.release({});
    await vi.advanceTimersByTimeAsync(1_000);
    const before = store.count('put');
    await vi.advanceTimersByTimeAsync(20_000);
    expect(store.count('put') - before).toBeLessThanOrEqual(512);
    expect(breaker).toEqual([]);
    store.down = false;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(store.count('put') - before).toBeGreaterThan(2_000);
  });

  it('leaves no more to be given back than 16 MB for a store, the first to be lost before all others', async () => {
    const { store, take, comeBack } = setUp();
    const first = await take(1);
    store.down = true;
    await take(10);
    for (const one of first) one.release({});
    // Clients choose how long a key is, and how many requests they send meanwhile; there may be a guard for each route.
    for (const name of ['one', 'two', 'three']) {
      const key = name.padEnd(8_000, 'k');
      const limit = concurrencyLimit({ name, limit: 1, key, lease: '60s' });
      const guard = createGuard(limit, { store, logger: false });
      for (let i = 0; i < 400; i += 1) (await guard.admit(request())).release({});
    }
    await vi.advanceTimersByTimeAsync(0);
    const before = store.count('put');
    await comeBack();
    const puts = store.asked.filter(({ step }) => step.op === 'put').slice(before);
    const bytes = puts.reduce((sum, { step }) => sum + 2 * step.key.length, 0);
    expect(bytes).toBeLessThanOrEqual(16 * 1024 * 1024);
    expect(bytes).toBeGreaterThan(15 * 1024 * 1024);
    expect(puts.some(({ step }) => step.limiter === 'many')).toBe(true);
  });

  it('counts the ids of claims, which may be long, to these 16 MB', async () => {
    const { store, take, comeBack } = setUp();
    store.down = true;
    await take(10);
    const rule = makeClaimsRule(60_000_000, 60_000_000);
    let made = 0;
    const limiter: StoredLimiter = {
      kind: 'stored',
      name: 'once',
      named: true,
      mode: 'enforce',
      rule,
      finish: ({ step }) => step && [{ ...step, op: 'put' }],
      step: (_, binding) => {
        made += 1;
        const claim = { id: `${made}`.padEnd(8_000, 'i'), owner: `${made}`.padStart(16, 'o') };
        const step = { op: 'take', limiter: 'once', key: 'ada', rule, cost: 1, claim } as const;
        return { ...step, binding, onStoreError: 'allow' };
      },
      decide: ({ cost }, { allowed }) => {
        const unknown = { used: Number.NaN, remaining: Number.NaN, resetMs: Number.NaN };
        const retryAfterMs = 0;
        return {
          limiter: 'once',
          allowed,
          outcome: 'error',
          reason: null,
          cost,
          retryAfterMs,
          ...unknown,
        };
      },
    };
    const guard = createGuard(limiter, { store, logger: false });
    for (let i = 0; i < 1_200; i += 1) (await guard.admit(request())).release({});
    await vi.advanceTimersByTimeAsync(0);
    const before = store.count('put');
    await comeBack();
    await vi.advanceTimersByTimeAsync(20_000);
    const puts = store.asked.filter(({ step }) => step.op === 'put').slice(before);
    const bytes = puts.reduce((sum, { step }) => sum + 2 * (step.claim?.id.length ?? 0), 0);
    expect(bytes).toBeLessThanOrEqual(16 * 1024 * 1024);
    expect(bytes).toBeGreaterThan(15 * 1024 * 1024);
  });

  it('leaves as much room for the next one', async () => {
    const { store, take, comeBack } = setUp();
    const key = 'k'.repeat(8_000);
    const limit = concurrencyLimit({ name: 'long', limit: 1_000, key, lease: '60s' });
    const long = createGuard(limit, { store, logger: false });
    for (let outage = 0; outage < 4; outage += 1) {
      const running: Admission[] = [];
      for (let i = 0; i < 400; i += 1) running.push(await long.admit(request()));
      store.down = true;
      await take(10);
      for (const one of running) one.release({});
      await comeBack();
    }
    expect(held(store.memory, 'long', key)).toBe(0);
  });
});
