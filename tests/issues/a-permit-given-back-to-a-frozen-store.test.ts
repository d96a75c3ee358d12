/**
 * A store that stops answering: when a request ends, its permit is free in the fallback counters, whatever the store
 * does.
 */

import { type Answer, concurrencyLimit, createGuard, memoryStore, type Step } from '@spillway/core';
import { remoteStore, systemClock } from '@spillway/core/store';
import { fakeTime, request } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';

/** While it is frozen, its calls are neither answered nor rejected, as with a machine that hangs. */
function setUp(limit: number) {
  const memory = memoryStore({ clock: systemClock });
  const store = remoteStore({
    sync: false as const,
    isFrozen: false,
    async apply(steps: readonly Step[]): Promise<readonly Answer[]> {
      return this.isFrozen ? new Promise(() => {}) : memory.apply(steps);
    },
  });
  const exports = concurrencyLimit({ name: 'exports', limit, key: 'ada' });
  const guard = createGuard(exports, { store, logger: false });
  const admit = async () => {
    const asked = guard.admit(request());
    await vi.advanceTimersByTimeAsync(60);
    return asked;
  };
  return { store, admit };
}

describe('a store that freezes', () => {
  fakeTime();

  it('refuses nobody who has no request in progress', async () => {
    const { store, admit } = setUp(3);
    store.isFrozen = true;
    for (let i = 0; i < 12; i += 1) {
      const admission = await admit();
      expect(admission.allowed).toBe(true);
      void admission.release({});
    }
  });

  it('frees those that it knew when their requests end, and only those', async () => {
    const { store, admit } = setUp(3);
    const [one, , other] = [await admit(), await admit(), await admit()];
    store.isFrozen = true;
    expect((await admit()).allowed).toBe(false);
    void one.release({});
    void other.release({});
    expect((await admit()).allowed).toBe(true);
    expect((await admit()).allowed).toBe(true);
    expect((await admit()).allowed).toBe(false);
  });
});
