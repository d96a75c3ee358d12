/** How a breaker probes whether the store is back. */

import { systemClock } from '@spillway/core/store';
import type { ManualClock } from '@spillway/core/testing';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { background, lost, setUp } from './breaker-set-up.js';

describe('a breaker asks by a timer', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const passing = (clock: ManualClock) => async (seconds: number) => {
    for (let ms = 0; ms < seconds * 1000; ms += 10) {
      clock.advance(10);
      await vi.advanceTimersByTimeAsync(10);
    }
  };

  it('whether the store is back, and delays no request by it', async () => {
    const { clock, store, fail, ask } = setUp();
    const pass = passing(clock);
    await fail(3);
    await pass(0.09);
    await fail(5);
    expect(store.probes).toBe(0);
    await pass(0.01);
    expect(store.probes).toBe(1);
    await pass(0.9);
    expect(store.probes).toBe(10);
    expect(await ask()).toBe('error'); // at once: the timer sends the probe
    store.error = undefined;
    await pass(0.1);
    expect(await ask()).toBe('allowed');
    expect(store.calls).toBe(4);
  });

  it('and has no request wait in an outage, however long an answer may take', async () => {
    const { clock, store, fail, ask } = setUp({ storeTimeout: '1s' });
    const pass = passing(clock);
    await fail(3);
    store.silent = true;
    for (let i = 0; i < 100; i += 1) {
      let outcome: string | undefined;
      void ask().then((said) => {
        outcome = said;
      });
      await vi.advanceTimersByTimeAsync(0);
      expect(outcome).toBe('error');
      await pass(0.05);
    }
    expect(store.probes).toBeGreaterThan(3);
  });

  it('one question at a time', async () => {
    const { clock, store, fail } = setUp({ storeTimeout: '3s' });
    const pass = passing(clock);
    await fail(3);
    store.silent = true;
    await pass(2.9);
    await fail(5);
    expect(store.probes).toBe(1);
    for (const end of store.open) end();
    await pass(0.12);
    expect(store.probes).toBe(2);
  });

  it('at the full pace for ten seconds after the last request, then in pauses that grow to five seconds, for ever', async () => {
    const { clock, store, fail, ask } = setUp();
    const pass = passing(clock);
    await fail(3);
    await pass(10);
    expect(store.probes).toBe(100);
    await pass(20);
    const { probes } = store;
    expect(probes).toBeLessThan(112);
    await pass(3_600);
    expect(store.probes - probes).toBeGreaterThan(715);
    expect(store.probes - probes).toBeLessThan(725);
    store.error = undefined;
    await pass(5.1);
    expect(await ask()).toBe('allowed');
    await pass(60);
    expect(store.probes - probes).toBeLessThan(726);
  });

  it('at the full pace again once there is a request', async () => {
    const { clock, store, fail } = setUp();
    const pass = passing(clock);
    await fail(3);
    await pass(60);
    await fail(1);
    const { probes } = store;
    await pass(1);
    expect(store.probes).toBeGreaterThanOrEqual(probes + 9);
  });

  it.each(['allow', 'deny'] as const)(
    'so seldom that the first request after a long pause waits for an answer, and no other (%s)',
    async (onStoreError) => {
      const { clock, store, fail, ask } = setUp({ onStoreError });
      const pass = passing(clock);
      await fail(3);
      await pass(60);
      store.silent = true;
      store.error = undefined;
      let answered = false;
      const first = ask().finally(() => {
        answered = true;
      });
      expect(await ask()).toBe('error'); // the second does not wait
      expect(answered).toBe(false);
      for (const end of store.open) end();
      store.silent = false;
      expect(await first).toBe('allowed');
    },
  );

  it('and what the first request has waited for the question it does not wait for the answer', async () => {
    const { clock, store, fail, ask } = setUp();
    const pass = passing(clock);
    const own = vi.spyOn(systemClock, 'nowUs').mockImplementation(() => clock.nowUs());
    onTestFinished(() => own.mockRestore());
    await fail(3);
    await pass(60);
    store.silent = true;
    store.error = undefined;
    const first = ask();
    await pass(0.04);
    for (const end of store.open) end(); // it is back, and leaves its next calls open
    let outcome: string | undefined;
    void first.then((said) => {
      outcome = said;
    });
    await pass(0.03);
    expect(outcome).toBe('error');
    expect(store.calls).toBe(4);
  });

  it('and the first request after a long pause waits no longer than for any answer', async () => {
    const { clock, store, fail, ask } = setUp();
    const pass = passing(clock);
    await fail(3);
    await pass(60);
    store.silent = true;
    const first = ask();
    await pass(0.06);
    expect(await first).toBe('error');
    expect(await ask()).toBe('error');
  });
});

describe('a breaker, where timers end with the request that set them', () => {
  // Real timers, which never fire here, and a manual clock.
  const kept: Promise<unknown>[] = [];
  const host = {
    waitUntil: (promise: Promise<unknown>) => {
      kept.push(promise);
      return true;
    },
  };

  it('has the next request wait for the question', async () => {
    const { clock, store, fail, ask } = setUp();
    await fail(3);
    clock.advance(199);
    await fail(1);
    expect(store.probes).toBe(0);
    clock.advance(1);
    store.error = undefined;
    expect(await ask()).toBe('allowed');
    expect(store.probes).toBe(1);
  });

  it('gives the question to the platform where that can keep it, and waits for nothing', async () => {
    const { clock, store, fail, ask } = setUp();
    await fail(3);
    clock.advance(200);
    store.silent = true;
    store.error = undefined;
    expect(await ask(undefined, host)).toBe('error');
    await background();
    expect(store.probes).toBe(1);
    for (const end of store.open) end();
    store.silent = false;
    await Promise.all(kept);
    expect(kept).toHaveLength(1);
    expect(await ask(undefined, host)).toBe('allowed');
  });

  it.each([
    { waitUntil: () => false },
    {
      waitUntil: () => {
        throw new Error('no such thing');
      },
    },
  ])('waits where the platform does not keep it', async (none) => {
    const { clock, store, fail, ask } = setUp();
    await fail(3);
    clock.advance(200);
    store.error = undefined;
    expect(await ask(undefined, none)).toBe('allowed');
  });

  it('gives up a question that was lost with its request, and does not hear it later', async () => {
    const { clock, store, fail, ask } = setUp();
    await fail(3);
    clock.advance(200);
    store.silent = true;
    void ask();
    await background();
    clock.advance(149);
    store.error = undefined;
    expect(await ask()).toBe('error');
    const [lostQuestion] = store.open;
    clock.advance(51);
    store.silent = false;
    store.error = lost;
    expect(await ask()).toBe('error'); // asked again, in vain
    expect(store.probes).toBe(2);
    store.error = undefined;
    lostQuestion?.();
    await background();
    expect(await ask()).toBe('error');
    clock.advance(200);
    expect(await ask()).toBe('allowed');
  });
});
