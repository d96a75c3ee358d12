/** Permits are renewed by requests where timers end with requests; refunds are not treated as permits. */

import {
  type Answer,
  concurrencyLimit,
  createGuard,
  memoryStore,
  rateLimit,
  type Step,
  type Store,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { fakeTime, request } from 'spillway-testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

it('permits are renewed by the next request where the host ends timers with the request that set them', () => {
  vi.stubGlobal('setTimeout', () => 0);
  onTestFinished(() => void vi.unstubAllGlobals());
  const clock = new ManualClock();
  const memory = memoryStore({ clock });
  const ops: string[] = [];
  const apply = (steps: readonly Step[]): readonly Answer[] => {
    ops.push(...steps.map(({ op }) => op));
    return memory.apply(steps);
  };
  const limiter = concurrencyLimit({ name: 'two', limit: 9, key: 'all', lease: '60s' });
  const guard = createGuard(limiter, { store: remoteStore({ sync: true, apply }), clock });
  guard.admit(request());
  clock.advance('30s');
  guard.admit(request());
  expect(ops).toEqual(['take', 'record', 'take']);
});

describe('a permit that a store which answers at once has not taken back', () => {
  fakeTime();

  it('is given back again', async () => {
    const memory = memoryStore();
    let failures = 1;
    const apply = (steps: readonly Step[]): readonly Answer[] => {
      if (steps[0]?.op === 'put' && failures-- > 0) throw new Error('lost');
      return memory.apply(steps);
    };
    const limiter = concurrencyLimit({ name: 'one', limit: 1, key: 'all', lease: '60s' });
    const guard = createGuard(limiter, {
      store: remoteStore({ sync: true, apply }),
      logger: false,
    });
    const allowed = async () => (await guard.admit(request())).allowed;
    (await guard.admit(request())).release({ status: 200 });
    expect(await allowed()).toBe(false);
    await vi.advanceTimersByTimeAsync(30_000); // half of its lease
    expect(await allowed()).toBe(true);
  });
});

describe('a refund that did not reach the store', () => {
  fakeTime();

  it('is not sent again, for it is no permit', async () => {
    const memory = memoryStore();
    let puts = 0;
    const store: Store = remoteStore({
      sync: false,
      apply: async (steps) => {
        if (steps[0]?.op !== 'put') return memory.apply(steps);
        puts += 1;
        throw new Error('lost');
      },
    });
    const limiter = rateLimit({ name: 'refunded', limit: 9, window: '1h', refundIf: () => true });
    const guard = createGuard(limiter, { store, logger: false });
    const admission = await guard.admit(request());
    await admission.release({ status: 200 });
    await vi.advanceTimersByTimeAsync(600_000);
    expect(puts).toBe(1);
    await guard.close();
    expect(puts).toBe(1);
  });
});
