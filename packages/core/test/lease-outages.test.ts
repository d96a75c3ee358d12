/** Permits over outages and delays of the store: what was lost is given back once, in time, and within bounds. */

import {
  type Admission,
  type Answer,
  type ApplyOptions,
  type BreakerEvent,
  concurrencyLimit,
  createGuard,
  type GuardOptions,
  memoryStore,
  rateLimit,
  type Step,
  type Store,
  systemClock,
} from '@spillway/core';
import { describe, expect, it, vi } from 'vitest';
import { fakeTime } from './fake-time.js';
import { request } from './guard-set-up.js';
import { held } from './held.js';

type Ops = Partial<Record<Step['op'], number>>;

/** A store far away: it may be down, and it may take its time over renewals or releases. */
class FarStore implements Store {
  readonly sync = false;
  readonly memory = memoryStore({ clock: systemClock });
  readonly asked: { readonly step: Step; readonly options: ApplyOptions | undefined }[] = [];
  down = false;
  /** Takes so long over each op, in milliseconds, before it does it. */
  readonly delayMs: Ops = {};

  async apply(steps: readonly Step[], options?: ApplyOptions): Promise<readonly Answer[]> {
    for (const step of steps) this.asked.push({ step, options });
    if (this.down) throw new Error('down');
    const ms = this.delayMs[steps[0]?.op ?? 'look'];
    if (ms) await new Promise((resolve) => setTimeout(resolve, ms));
    return this.memory.apply(steps);
  }

  count(op: Step['op']): number {
    return this.asked.filter(({ step }) => step.op === op).length;
  }

  get held(): number {
    return held(this.memory, 'many', 'all');
  }
}

function setUp(options: GuardOptions = {}) {
  const store = new FarStore();
  const limit = concurrencyLimit({ name: 'many', limit: 90, key: 'all', lease: '60s' });
  const breaker: BreakerEvent[] = [];
  const guard = createGuard(limit, {
    store,
    logger: false,
    observers: [{ onBreaker: (event) => breaker.push(event) }],
    ...options,
  });
  const take = async (count: number): Promise<Admission[]> => {
    const all: Admission[] = [];
    for (let i = 0; i < count; i += 1) all.push(await guard.admit(request()));
    return all;
  };
  /** Until the question in the background has found the store. */
  const comeBack = async () => {
    store.down = false;
    await vi.advanceTimersByTimeAsync(300);
    await take(1).then(([one]) => one?.release({}));
    await vi.advanceTimersByTimeAsync(300);
  };
  return { store, guard, take, breaker, comeBack };
}

describe('an outage', () => {
  fakeTime();

  it('ends with it: what could not be given back is free, and what runs on is held, at once', async () => {
    const { store, guard, take, breaker, comeBack } = setUp();
    const [ending, staying] = [await take(30), await take(30)];
    store.down = true;
    const [, ...unknown] = await take(10);
    expect(breaker).toMatchObject([{ state: 'open' }]);
    for (const one of ending) one.release({});
    await vi.advanceTimersByTimeAsync(1_500);
    expect(store.held).toBe(60);
    await comeBack();
    expect(breaker).toMatchObject([{ state: 'open' }, { state: 'closed' }]);
    // Those too that were let pass meanwhile.
    expect(guard.inProgress).toBe(staying.length + unknown.length + 1);
    expect(store.held).toBe(guard.inProgress);
  });

  it('that took the data with it ends with all that runs on registered again', async () => {
    const { store, guard, take, comeBack } = setUp();
    await take(40);
    store.down = true;
    await take(6);
    Object.assign(store, { memory: memoryStore({ clock: systemClock }) });
    await comeBack();
    expect(store.held).toBe(guard.inProgress);
    expect(guard.inProgress).toBe(46);
  });

  it('is not asked after by releases one by one: nobody answers, so the rest is not tried', async () => {
    const { store, take, breaker } = setUp({ breaker: false });
    const all: Admission[] = [];
    for (let i = 0; i < 20; i += 1) all.push(...(await take(90)).filter(({ allowed }) => allowed));
    store.down = true;
    const more = await take(2_000);
    for (const one of more) one.release({});
    await vi.advanceTimersByTimeAsync(1_000);
    const before = store.count('put');
    await vi.advanceTimersByTimeAsync(20_000);
    expect(store.count('put') - before).toBeLessThanOrEqual(512);
    expect(breaker).toEqual([]);
    store.down = false;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(store.count('put') - before).toBeGreaterThan(2_000);
  });

  it('leaves no more to be given back than 16 MB, the first to be lost before all others', async () => {
    const { store, take, comeBack } = setUp();
    const first = await take(1);
    store.down = true;
    await take(10);
    for (const one of first) one.release({});
    const key = 'k'.repeat(50_000);
    const guard = createGuard(concurrencyLimit({ name: 'other', limit: 1, key, lease: '60s' }), {
      store,
      logger: false,
    });
    for (let i = 0; i < 500; i += 1) (await guard.admit(request())).release({});
    await vi.advanceTimersByTimeAsync(0);
    const before = store.count('put');
    await comeBack();
    const puts = store.asked.filter(({ step }) => step.op === 'put').slice(before);
    const bytes = puts.reduce((sum, { step }) => sum + 2 * step.key.length, 0);
    expect(bytes).toBeLessThanOrEqual(16 * 1024 * 1024);
    expect(bytes).toBeGreaterThan(15 * 1024 * 1024);
    expect(puts.some(({ step }) => step.limiter === 'many')).toBe(true);
  });
});

describe('a renewal', () => {
  fakeTime();

  it('that is overtaken by the release of its permit leaves nothing held', async () => {
    const { store, guard, take } = setUp();
    const [one] = await take(1);
    store.delayMs.record = 3_000;
    while (store.count('record') === 0) await vi.advanceTimersByTimeAsync(100);
    one?.release({});
    await vi.advanceTimersByTimeAsync(1_000);
    expect(store.held).toBe(0);
    // Now the renewal takes the permit once more, and it is given back once more.
    await vi.advanceTimersByTimeAsync(3_000);
    expect(store.count('put')).toBe(2);
    expect(store.held).toBe(0);
    expect(guard.inProgress).toBe(0);
  });

  it('has the time to the next one as its deadline, and the breaker does not hear of it', async () => {
    const { store, guard, take, breaker } = setUp();
    await take(50);
    store.delayMs.record = 1e9;
    await vi.advanceTimersByTimeAsync(60_000);
    const renewals = store.asked.filter(({ step }) => step.op === 'record');
    expect(renewals.length).toBeGreaterThanOrEqual(100);
    for (const { options } of renewals) {
      expect(options?.background).toBe(true);
      expect((options?.deadlineUs ?? 0) - systemClock.nowUs()).toBeLessThanOrEqual(15_000_000);
    }
    expect(breaker).toEqual([]);
    expect(guard.inProgress).toBe(50);
  });

  it('that fails for one permit fails for no other', async () => {
    const { store, take } = setUp();
    await take(20);
    const { apply } = store;
    let victim: string | undefined;
    store.apply = (steps, options) => {
      const [step] = steps;
      if (step?.op === 'record') victim ??= step.lease?.id;
      return step?.op === 'record' && step.lease?.id === victim
        ? Promise.reject(new Error('this one'))
        : apply.call(store, steps, options);
    };
    await vi.advanceTimersByTimeAsync(120_000);
    expect(store.held).toBe(19);
  });
});

describe('releases', () => {
  fakeTime();

  it('of thousands at once do not open the breaker when the store is slow to take them', async () => {
    const { store, take, breaker } = setUp();
    const all = await take(80);
    store.delayMs.put = 500;
    for (const one of all) one.release({});
    await vi.advanceTimersByTimeAsync(2_000);
    expect(breaker).toEqual([]);
    expect(store.held).toBe(0);
    expect(store.count('put')).toBe(80);
  });
});

describe('close', () => {
  fakeTime();

  it('gives 20,000 permits back, a part at a time, and waits for the last', async () => {
    const store = new FarStore();
    const limits = [
      concurrencyLimit({ name: 'many', limit: 100_000, key: ({ path }) => path }),
      rateLimit({ name: 'rate', limit: 100_000, window: '1h' }),
    ];
    const guard = createGuard(limits, { store, logger: false });
    for (let i = 0; i < 20_000; i += 1) await guard.admit(request({ path: `/${i % 500}` }));
    let [under, most] = [0, 0];
    const { apply } = store;
    store.apply = async (steps, options) => {
      under += 1;
      most = Math.max(most, under);
      await new Promise((resolve) => setTimeout(resolve, 60));
      under -= 1;
      return apply.call(store, steps, options);
    };
    let done = false;
    const closed = guard.close().then(() => {
      done = true;
    });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(done).toBe(false);
    await vi.advanceTimersByTimeAsync(4_000);
    await closed;
    expect(most).toBeLessThanOrEqual(512);
    expect(store.memory.size).toBe(1); // the bucket of the rate limit
    expect(guard.inProgress).toBe(0);
  });

  it.each(['rejects', 'is silent'])('is done within 5 s though the store %s', async (how) => {
    const { store, guard, take } = setUp({ breaker: false });
    await take(60);
    store.delayMs.record = 1e9;
    await vi.advanceTimersByTimeAsync(10_000); // some renewals are under way
    if (how === 'rejects') store.down = true;
    else store.delayMs.put = 1e9;
    let done = false;
    const closed = guard.close().then(() => {
      done = true;
    });
    await vi.advanceTimersByTimeAsync(5_100);
    expect(done).toBe(true);
    await closed;
  });

  it('waits for a renewal that is under way, and gives back what that took once more', async () => {
    const { store, guard, take } = setUp();
    await take(3);
    store.delayMs.record = 2_000;
    while (store.count('record') < 3) await vi.advanceTimersByTimeAsync(100);
    const closed = guard.close();
    await vi.advanceTimersByTimeAsync(3_000);
    await closed;
    expect(store.held).toBe(0);
  });

  it('gives back what was lost before', async () => {
    const { store, guard, take } = setUp({ breaker: false });
    const all = await take(3);
    store.down = true;
    for (const one of all) one.release({});
    await vi.advanceTimersByTimeAsync(0);
    store.down = false;
    await guard.close();
    expect(store.held).toBe(0);
  });
});
