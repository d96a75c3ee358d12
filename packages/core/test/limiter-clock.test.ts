/** The clock of a limit without HTTP is used for counts in this process, and for the cache and breaker of a store. */

import { createLimiter, memoryStore, type Step } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Patient } from './breaker-set-up.js';

const limit = { name: 'ten', limit: 10, window: '10s' } as const;

describe('createLimiter with a clock', () => {
  it('counts in memory by it', () => {
    const clock = new ManualClock();
    const limiter = createLimiter(limit, { clock });
    limiter.consume('ada', { cost: 10 });
    expect(limiter.consume('ada')).toMatchObject({ allowed: false, retryAfterMs: 1000 });
    clock.advance(999);
    expect(limiter.consume('ada')).toMatchObject({ allowed: false, retryAfterMs: 1 });
    clock.advance(1);
    expect(limiter.consume('ada')).toMatchObject({ allowed: true });
  });

  it('counts apart from one of the same name on another clock, or on none', () => {
    const clock = new ManualClock();
    for (const options of [{ clock }, { clock: new ManualClock() }, {}, { clock }]) {
      expect(createLimiter(limit, options).consume('ada')).toMatchObject({ remaining: 9 });
    }
  });

  it('repeats refusals by it; the store counts by its own', async () => {
    const clock = new ManualClock();
    const ofStore = new ManualClock(5_000_000);
    const memory = memoryStore({ clock: ofStore });
    let asked = 0;
    const store = remoteStore({
      sync: false,
      apply: async (steps: readonly Step[]) => {
        asked += steps.length;
        return memory.apply(steps);
      },
    });
    const limiter = createLimiter(limit, { store, clock });
    await limiter.consume('ada', { cost: 10 });
    await limiter.consume('ada');
    clock.advance(999);
    expect(await limiter.consume('ada')).toMatchObject({ allowed: false, retryAfterMs: 1 });
    expect(asked).toBe(2);
    clock.advance(1);
    expect(await limiter.consume('ada')).toMatchObject({ allowed: false, retryAfterMs: 1000 });
    expect(asked).toBe(3);
    clock.advance(1000);
    ofStore.advance(1000);
    expect(await limiter.consume('ada')).toMatchObject({ allowed: true });
  });

  it('measures outages, and counts during them, by it', async () => {
    const clock = new ManualClock();
    const store = remoteStore(new Patient());
    const warnings: string[] = [];
    const logger = { warn: (line: string) => warnings.push(line) };
    const limiter = createLimiter(limit, {
      store,
      clock,
      logger,
      breaker: { failures: 1, probeEvery: '100ms' },
    });
    store.error = new Error('connection lost');
    expect(await limiter.consume('ada', { cost: 10 })).toMatchObject({ outcome: 'error' });
    const calls = store.asked.length;
    // The fallback counters use it: a unit is back after a second.
    expect(await limiter.consume('ada')).toMatchObject({ allowed: false, retryAfterMs: 1000 });
    expect(store.asked.length).toBe(calls);
    clock.advance('11s');
    store.error = undefined;
    // This long after the last request, this one probes the store itself.
    expect(await limiter.consume('ada')).toMatchObject({ outcome: 'allowed' });
    expect(warnings.at(-1)).toContain('11.0 s');
  });

  it('must be a clock', () => {
    for (const clock of [Date.now, {}, null, 5]) {
      expect(() => createLimiter(limit, { clock: clock as never })).toThrow(
        /clock must be .*SPW_OPTION_INVALID/,
      );
    }
  });
});

it('is not moved by fake timers, even if they are set before the first decision', async () => {
  vi.resetModules();
  const { systemClock } = await import('@spillway/core/store');
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const beforeUs = systemClock.nowUs();
  vi.advanceTimersByTime(3_600_000);
  expect(systemClock.nowUs() - beforeUs).toBeLessThan(1_800_000_000);
});
