/**
 * A bundler may bring a second copy of core. Both may use one store object: its counts are exact. Both copies share its
 * breaker, fallback counters and denial cache, because the store brings them.
 */

import { memoryStore, type Step } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { expect, it, vi } from 'vitest';

it('share exact counts and one cache of rejections', async () => {
  const one = await import('@spillway/core');
  vi.resetModules();
  const other = await import('@spillway/core');
  expect(other.createLimiter).not.toBe(one.createLimiter);
  const clock = new ManualClock();
  const memory = memoryStore({ clock });
  const apply = async (steps: readonly Step[]) => memory.apply(steps);
  const store = remoteStore({ sync: false as const, testClock: clock, apply });
  const options = { name: 'login', limit: 2, window: '1h' } as const;
  const [mine, theirs] = [one, other].map(({ createLimiter }) =>
    createLimiter(options, { store, clock }),
  );
  const passes = async (limiter = mine) => (await limiter?.consume('ada'))?.allowed;
  expect([await passes(mine), await passes(theirs)]).toEqual([true, true]);
  expect([await passes(mine), await passes(theirs)]).toEqual([false, false]);
  await mine?.reset('ada');
  expect([await passes(theirs), await passes(mine)]).toEqual([true, true]);
  expect([await passes(theirs), await passes(mine)]).toEqual([false, false]);
});
