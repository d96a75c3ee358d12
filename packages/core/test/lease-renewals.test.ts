/** Renewals: in time for each permit, few at once, as many as needed, and no unnecessary ones. */

import {
  type Admission,
  type Answer,
  concurrencyLimit,
  createGuard,
  type Guard,
  type Step,
  type Store,
} from '@spillway/core';
import { remoteStore, systemClock } from '@spillway/core/store';
import { fakeTime, request, stall } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';

const LEASE_MS = 60_000;
const THIRD_MS = LEASE_MS / 3;

/** Admits everything. Records when each permit was taken or renewed, and how many renewals came in one turn. */
class NotingStore implements Store {
  readonly sync = true;
  readonly lastMs = new Map<string, number>();
  readonly turns = new Map<number, number>();
  renewals = 0;
  longestMs = 0;

  apply(steps: readonly Step[]): readonly Answer[] {
    for (const { op, lease } of steps) {
      if (!lease) continue;
      if (op === 'put') this.lastMs.delete(lease.id);
      else this.noteLife(lease.id, op === 'record');
    }
    return steps.map(() => ({ allowed: true, nowUs: systemClock.nowUs(), used: 1, critical: 0 }));
  }

  private noteLife(id: string, isRenewal: boolean): void {
    const nowMs = systemClock.nowUs() / 1_000;
    this.longestMs = Math.max(this.longestMs, nowMs - (this.lastMs.get(id) ?? nowMs));
    this.lastMs.set(id, nowMs);
    if (!isRenewal) return;
    this.renewals += 1;
    this.turns.set(nowMs, (this.turns.get(nowMs) ?? 0) + 1);
  }

  get mostInOneTurn(): number {
    return Math.max(0, ...this.turns.values());
  }
}

function setUp() {
  const store = remoteStore(new NotingStore());
  const limit = concurrencyLimit({ name: 'many', limit: 100_000, key: 'all', lease: '60s' });
  const guard: Guard = createGuard(limit, { store });
  const take = (count: number): Admission[] =>
    Array.from({ length: count }, () => guard.admit(request()) as Admission);
  return { store, guard, take };
}

describe('renewals', () => {
  fakeTime();

  it('of permits that were taken at once are spread, and each comes within a third of its lease', () => {
    const { store, take } = setUp();
    take(6_000);
    vi.advanceTimersByTime(5 * LEASE_MS);
    expect(store.longestMs).toBeLessThanOrEqual(THIRD_MS);
    expect(store.longestMs).toBeGreaterThan(0.6 * THIRD_MS);
    // A quarter of a lease for 6,000 is 125 in each turn.
    expect(store.mostInOneTurn).toBeLessThanOrEqual(2 * 125);
    // At least three in a lease for each, and not many more.
    expect(store.renewals).toBeGreaterThanOrEqual(3 * 4 * 6_000);
    expect(store.renewals).toBeLessThanOrEqual(5 * 5 * 6_000);
  });

  it('of a count that shrinks come in time all the same', () => {
    const { store, guard, take } = setUp();
    const running = new Map(take(3_000).map((one, at) => [at, one]));
    // The leases that were renewed soon end. The others must not wait longer because there are fewer now.
    for (let second = 0; second < 60; second += 1) {
      vi.advanceTimersByTime(1_000);
      for (const [at, one] of [...running].slice(0, 45)) {
        one.release({});
        running.delete(at);
      }
    }
    expect(guard.inProgress).toBe(300);
    expect(store.longestMs).toBeLessThanOrEqual(THIRD_MS);
  });

  it('are not sent for what is over within a twelfth of the lease', () => {
    const { store, take } = setUp();
    for (let round = 0; round < 100; round += 1) {
      const some = take(50);
      vi.advanceTimersByTime(LEASE_MS / 12 - 500);
      for (const one of some) one.release({});
    }
    expect(store.renewals).toBe(0);
  });

  it('of 30,000 come in turns that leave time for others', () => {
    const { store, take } = setUp();
    take(30_000);
    vi.advanceTimersByTime(LEASE_MS);
    expect(store.mostInOneTurn).toBeLessThanOrEqual(512);
    expect(store.longestMs).toBeLessThanOrEqual(THIRD_MS);
  });

  it('go on where they were after the process stood still', () => {
    const { store, take } = setUp();
    take(6_000);
    vi.advanceTimersByTime(15_000);
    const before = store.renewals;
    stall(15_000);
    vi.advanceTimersByTime(1_000);
    // All leases that are late by now, in bounded turns. Those renewed most recently come last.
    expect(store.renewals - before).toBeGreaterThan(3_000);
    expect(store.mostInOneTurn).toBeLessThanOrEqual(512);
    expect(store.longestMs).toBeLessThan(THIRD_MS + 15_000 + 1_000);
  });
});
