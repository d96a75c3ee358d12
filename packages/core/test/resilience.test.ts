import {
  createGuard,
  createLimiter,
  type LimitRequest,
  memoryStore,
  type OnStoreError,
  rateLimit,
  type Step,
  type Store,
} from '@spillway/core';
import { makeRule, withDeadline } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

const step: Step = {
  op: 'take',
  limiter: 'a',
  key: 'k',
  rule: makeRule('token-bucket', 5, 60_000_000),
  cost: 1,
  binding: true,
};
const request: LimitRequest = {
  method: 'GET',
  path: '/',
  clientIp: '203.0.113.7',
  header: () => undefined,
  raw: undefined,
};
const down: Store = { sync: false, apply: () => Promise.reject(new Error('connection refused')) };

describe('a deadline', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const silent: Store = { sync: false, apply: () => new Promise(() => undefined) };

  it('rejects a call that the store leaves open', async () => {
    const call = Promise.resolve(withDeadline(silent, 50_000).apply([step]));
    const outcome = call.catch((error: Error) => error.message);
    await vi.advanceTimersByTimeAsync(49);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(2);
    expect(await outcome).toMatch(/within 50 ms \(SPW_STORE_TIMEOUT\)/);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('leaves no timer behind when the store answers', async () => {
    const memory = memoryStore();
    const prompt: Store = { sync: false, apply: async (steps) => memory.apply(steps) };
    const store = withDeadline(prompt, 50_000);
    await Promise.all([store.apply([step]), store.apply([step])]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('sets a timer for each call: one that is shared ends, on some hosts, with the request that set it', () => {
    const store = withDeadline(silent, 50_000, new ManualClock());
    for (let i = 0; i < 3; i += 1) Promise.resolve(store.apply([step])).catch(() => undefined);
    expect(vi.getTimerCount()).toBe(3);
  });

  it('takes an answer that had arrived before a stalled loop came to its timer', async () => {
    const memory = memoryStore();
    let arrive: () => void = () => undefined;
    const store = withDeadline(
      {
        sync: false,
        apply: (steps) =>
          new Promise((resolve) => {
            arrive = () => resolve(memory.apply(steps));
          }),
      },
      50_000,
    );
    const call = store.apply([step]);
    vi.advanceTimersByTime(50); // the timer has fired; the poll phase comes next
    arrive();
    await vi.advanceTimersByTimeAsync(1);
    expect((await call)[0]?.allowed).toBe(true);
  });

  /** What a store is told of how long anybody waits, from 1 s on. */
  async function toldOf(steps: readonly Step[]): Promise<number | undefined> {
    let told: number | undefined;
    const curious: Store = {
      sync: false,
      apply: async (_, options) => {
        told = options?.deadlineUs;
        return [];
      },
    };
    await withDeadline(curious, 50_000, new ManualClock(1_000_000)).apply(steps);
    return told;
  }
  const group = (size: number) =>
    Array.from({ length: size }, (_, i) => ({ ...step, key: `${i}` }));

  it('tells the store how long anybody waits', async () => {
    expect(await toldOf([step])).toBe(1_050_000);
  });

  it('gives what is only given back all the time there is, in the store too', async () => {
    const put: Step = { ...step, op: 'put', receipt: { atUs: 1, num: 0, units: 1 } };
    expect(await toldOf([put, put])).toBe(Infinity);
    expect(await toldOf([put, step])).toBe(1_050_000);
  });

  it.each([
    [128, 50],
    [129, 100],
    [640, 100],
    [641, 150],
    [1_000, 150],
  ])('waits for a group of %i steps for %i ms', async (size, ms) => {
    expect(await toldOf(group(size))).toBe(1_000_000 + ms * 1_000);
    const call = Promise.resolve(withDeadline(silent, 50_000).apply(group(size)));
    let failed = false;
    call.catch(() => {
      failed = true;
    });
    await vi.advanceTimersByTimeAsync(ms - 1);
    expect(failed).toBe(false);
    await vi.advanceTimersByTimeAsync(2);
    expect(failed).toBe(true);
  });

  it('leaves a store alone that answers at once', () => {
    const memory = memoryStore();
    expect(withDeadline(memory, 50_000)).toBe(memory);
  });
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
    expect(await guard.admit(request)).toMatchObject({ allowed: true, status: 200, fields: [] });
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
    expect(refused.fields).toContainEqual(['Retry-After', '1']);
  });

  it('counts in this process if told to, and knows the callers already', async () => {
    const memory = memoryStore();
    let broken = false;
    const flaky: Store = {
      sync: false,
      apply: async (steps) => {
        if (broken) throw new Error('gone');
        return memory.apply(steps);
      },
    };
    const { guard, events } = guardOver(flaky, 'local');
    await guard.admit(request);
    broken = true;
    expect((await guard.admit(request)).allowed).toBe(true);
    const refused = await guard.admit(request);
    expect(refused).toMatchObject({ allowed: false, status: 429 });
    expect(refused.fields).toContainEqual(['Retry-After', '30']);
    expect(events).toEqual(['allowed', 'error', 'error']);
  });

  it('stretches the window by the share of this process', async () => {
    const { guard } = guardOver(down, 'local', 1 / 8);
    await guard.admit(request);
    await guard.admit(request);
    expect((await guard.admit(request)).fields).toContainEqual(['Retry-After', '240']);
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
      // What is refused anyway is not charged locally either.
      expect(decisions.map((one) => one.allowed)).toEqual([true, false, true]);
    }
  });

  it('that throws instead of rejecting is answered for all the same', () => {
    const throwing: Store = {
      sync: true,
      apply: () => {
        throw new Error('bug');
      },
    };
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
