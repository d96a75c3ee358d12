import {
  createGuard,
  createLimiter,
  type LimitRequest,
  memoryStore,
  type OnStoreError,
  rateLimit,
  type Store,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { describe, expect, it } from 'vitest';

const request: LimitRequest = {
  method: 'GET',
  path: '/',
  clientIp: '203.0.113.7',
  header: () => undefined,
  raw: undefined,
};
const down: Store = remoteStore({
  sync: false,
  apply: () => Promise.reject(new Error('connection refused')),
});

describe('a store that fails', () => {
  function guardOver(store: Store, onStoreError: OnStoreError, localShare?: number) {
    const share = localShare === undefined ? {} : { localShare };
    const events: string[] = [];
    const faults: unknown[] = [];
    const guard = createGuard(rateLimit({ name: 'a', limit: 2, window: '1m', ...share }), {
      store,
      onStoreError,
      onDecision: (event) => events.push(event.outcome),
      onFault: (fault) => faults.push(fault.error),
    });
    return { guard, events, faults };
  }

  it('lets requests pass if told to, without numbers, and never silently', async () => {
    const { guard, events, faults } = guardOver(down, 'allow');
    expect(await guard.admit(request)).toMatchObject({ allowed: true, status: 200, headers: [] });
    expect(events).toEqual(['error']);
    expect(faults).toEqual([new Error('connection refused')]);
  });

  it('refuses with 503 if told to', async () => {
    const { guard } = guardOver(down, 'deny');
    const refused = await guard.admit(request);
    expect(refused).toMatchObject({
      allowed: false,
      status: 503,
      binding: { reason: 'store-error' },
    });
    expect(refused.headers).toContainEqual(['Retry-After', '1']);
  });

  it('counts in this process if told to, and knows the callers already', async () => {
    const memory = memoryStore();
    let broken = false;
    const flaky: Store = remoteStore({
      sync: false,
      apply: async (steps) => {
        if (broken) throw new Error('gone');
        return memory.apply(steps);
      },
    });
    const { guard, events } = guardOver(flaky, 'local');
    await guard.admit(request);
    broken = true;
    expect((await guard.admit(request)).allowed).toBe(true);
    const refused = await guard.admit(request);
    expect(refused).toMatchObject({ allowed: false, status: 429 });
    expect(refused.headers).toContainEqual(['Retry-After', '30']);
    expect(events).toEqual(['allowed', 'error', 'error']);
  });

  it('stretches the window by the share of this process', async () => {
    const { guard } = guardOver(down, 'local', 1 / 8);
    await guard.admit(request);
    await guard.admit(request);
    expect((await guard.admit(request)).headers).toContainEqual(['Retry-After', '240']);
  });

  it('answers for each limiter by its own policy', async () => {
    const limiter = (name: string, onStoreError: OnStoreError) =>
      rateLimit({ name, limit: 2, window: '1m', onStoreError });
    const guard = createGuard(
      [limiter('a', 'allow'), limiter('b', 'deny'), limiter('c', 'local')],
      { store: down },
    );
    for (let i = 0; i < 3; i += 1) {
      const { decisions } = await guard.admit(request);
      // What is rejected anyway is not charged locally either.
      expect(decisions.map((one) => one.allowed)).toEqual([true, false, true]);
    }
  });

  it('that throws instead of rejecting is answered for all the same', () => {
    const throwing: Store = remoteStore({
      sync: true,
      apply: () => {
        throw new Error('bug');
      },
    });
    const { guard } = guardOver(throwing, 'allow');
    expect(guard.admit(request)).toMatchObject({ allowed: true });
  });

  it('never rejects a direct call', async () => {
    const limiter = createLimiter(
      { name: 'a', limit: 2, window: '1m' },
      { store: down, onStoreError: 'allow' },
    );
    expect(await limiter.consume('k')).toMatchObject({
      allowed: true,
      outcome: 'error',
      remaining: Number.NaN,
    });
    expect(await limiter.peek('k')).toMatchObject({ outcome: 'error' });
    expect(await limiter.refund(await limiter.consume('k'))).toBe(false);
    await limiter.reset('k');
    const local = createLimiter({ name: 'a', limit: 2, window: '1m' }, { store: down });
    const said = [await local.consume('k'), await local.consume('k'), await local.consume('k')];
    expect(said.map((one) => one.allowed)).toEqual([true, true, false]);
  });
});
