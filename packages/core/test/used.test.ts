/** `used` of a decision: the units that count now, rounded up. */

import {
  type Algorithm,
  concurrencyLimit,
  createLimiter,
  memoryStore,
  type Store,
  type SyncStore,
} from '@spillway/core';
import { algorithmByName } from '@spillway/core/algorithms';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it } from 'vitest';
import { setUp } from './guard-set-up.js';

/** A clock at the start of a window of 10 s. */
function limiterOf(algorithm: Algorithm, limit = 10) {
  const clock = new ManualClock();
  const limiter = createLimiter(
    { limit, window: '10s', algorithm: algorithmByName(algorithm) },
    { clock },
  );
  return { clock, limiter };
}

describe('used', () => {
  it('of a bucket are the units that have not refilled, and a part of one is one', () => {
    const { clock, limiter } = limiterOf('token-bucket');
    expect(limiter.peek('ada').used).toBe(0);
    expect(limiter.consume('ada', { cost: 3 }).used).toBe(3);
    clock.advance(0.001);
    expect(limiter.peek('ada').used).toBe(3);
    clock.advance(999.999);
    expect(limiter.peek('ada').used).toBe(2);
    clock.advance('2s');
    expect(limiter.peek('ada').used).toBe(0);
  });

  it('of a bucket whose units take no whole number of microseconds is exact', () => {
    const { clock, limiter } = limiterOf('token-bucket', 3);
    expect(limiter.consume('ada', { cost: 3 }).used).toBe(3);
    clock.advance(3333.333);
    expect(limiter.peek('ada').used).toBe(3);
    clock.advance(0.001);
    expect(limiter.peek('ada').used).toBe(2);
  });

  it('of a bucket is at most the burst, and a cost that never passes uses nothing', () => {
    const { limiter } = limiterOf('token-bucket');
    expect(limiter.consume('ada', { cost: 11 }).used).toBe(0);
    expect(limiter.record('ada', { cost: 99 }).binding.used).toBe(10);
    expect(limiter.consume('ada').used).toBe(10);
  });

  it('of a sliding counter are this window and the weighed part of the previous one', () => {
    const { clock, limiter } = limiterOf('sliding-window-counter');
    expect(limiter.consume('ada', { cost: 5 }).used).toBe(5);
    clock.advance('15s');
    expect(limiter.peek('ada').used).toBe(3);
    expect(limiter.consume('ada').used).toBe(4);
  });

  it('of a fixed window is nothing when the window is over', () => {
    const { clock, limiter } = limiterOf('fixed-window');
    expect(limiter.consume('ada', { cost: 5 }).used).toBe(5);
    clock.advance('10s');
    expect(limiter.peek('ada').used).toBe(0);
  });

  it('of a log are the units of the last window', () => {
    const { clock, limiter } = limiterOf('sliding-window-log');
    limiter.consume('ada', { cost: 2 });
    clock.advance('4s');
    expect(limiter.consume('ada').used).toBe(3);
    clock.advance('6s');
    expect(limiter.peek('ada').used).toBe(1);
  });

  it('of requests in progress are the permits that are held', () => {
    const { admit } = setUp(concurrencyLimit({ name: 'at-once', limit: 2 }));
    admit();
    expect(admit().decisions[0]?.used).toBe(2);
    expect(admit().decisions[0]).toMatchObject({ allowed: false, used: 2 });
  });

  it('is more than the limit where the limit was lowered', () => {
    const memory = memoryStore();
    const release = (limit: number) => {
      const store: SyncStore = remoteStore({ sync: true, apply: (steps) => memory.apply(steps) });
      const algorithm = 'sliding-window-log';
      return createLimiter(
        { name: 'log', limit, window: '10m', algorithm: algorithmByName(algorithm) },
        { store },
      );
    };
    release(10).consume('ada', { cost: 10 });
    expect(release(4).peek('ada')).toMatchObject({ used: 10, remaining: 0 });
  });

  it('is not known where the store could not answer, unless this process counts', async () => {
    const store: Store = remoteStore({
      sync: false,
      apply: () => Promise.reject(new Error('down')),
    });
    const ask = (onStoreError: 'allow' | 'deny' | 'local') =>
      createLimiter(
        { name: `ten-${onStoreError}`, limit: 10, window: '10s' },
        { store, onStoreError, logger: false, breaker: false },
      ).consume('ada', { cost: 2 });
    expect((await ask('allow')).used).toBeNaN();
    expect((await ask('deny')).used).toBeNaN();
    expect((await ask('local')).used).toBe(2);
  });
});
