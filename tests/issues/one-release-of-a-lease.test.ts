/**
 * While a store was silent, a permit with a short lease was released a dozen times at once: each renewal that failed
 * after the release made another release, and each was sent again before the last attempt had timed out.
 */

import { concurrencyLimit, createGuard, memoryStore, type Step, type Store } from '@spillway/core';
import { remoteStore, systemClock } from '@spillway/core/store';
import { fakeTime, held, request } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';

/** Answers nothing while it is silent. */
class SilentStore implements Store {
  readonly sync = false;
  readonly memory = memoryStore({ clock: systemClock });
  isSilent = false;
  /** When each release was sent. */
  readonly releasesMs: number[] = [];

  async apply(steps: readonly Step[]) {
    if (steps.some(({ op }) => op === 'put')) this.releasesMs.push(performance.now());
    return this.isSilent ? new Promise<never>(() => undefined) : this.memory.apply(steps);
  }
}

describe('a permit that is released while the store is silent', () => {
  fakeTime();

  it('is released by two calls at a time at most, until the store answers', async () => {
    const store = remoteStore(new SilentStore());
    const limit = concurrencyLimit({ name: 'many', limit: 9, key: 'all', lease: '2s' });
    const guard = createGuard(limit, { store, logger: false });
    const admission = await guard.admit(request());
    store.isSilent = true;
    await vi.advanceTimersByTimeAsync(1_600);
    void admission.release({});
    await vi.advanceTimersByTimeAsync(2_500);
    // Each times out after a second.
    const gaps = store.releasesMs.slice(2).map((atMs, n) => atMs - (store.releasesMs[n] ?? 0));
    expect(gaps.length).toBeGreaterThan(0);
    for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(1_000);
    store.isSilent = false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(held(store.memory, 'many', 'all')).toBe(0);
  });
});
