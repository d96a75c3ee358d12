/** `thresholds`: a share of a quota is reported once per key and period, by all processes together. */

import {
  type BillingPeriod,
  type Crossed,
  calendar,
  concurrencyLimit,
  createGuard,
  createLimiter,
  type Fault,
  fixedWindow,
  type LimiterOptions,
  lockFor,
  memoryStore,
  type Observer,
  rateLimit,
  slidingWindow,
  thresholds,
  tokenBucket,
} from '@spillway/core';
import { remoteStore, type Step, systemClock } from '@spillway/core/store';
import { fakeTime, request } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';

const DAY = 86_400_000;

/** Processes with a limit of 10 a day on one store, and what they report. */
function fleet(
  processes = 1,
  shares: readonly number[] = [0.8, 1],
  answer: (crossed: Crossed, process: number) => unknown = () => undefined,
) {
  const memory = memoryStore({ clock: systemClock });
  const store = remoteStore({ sync: false, apply: async (steps) => memory.apply(steps) });
  const told: Crossed[] = [];
  const faults: Fault[] = [];
  const limiters = Array.from({ length: processes }, (_, process) => {
    const observer = thresholds(
      { quota: shares },
      (crossed) => {
        told.push(crossed);
        return answer(crossed, process);
      },
      { store, onFault: (fault) => faults.push(fault) },
    );
    return createLimiter(
      { name: 'quota', limit: 10, window: calendar('day') },
      { store, observers: [observer] },
    );
  });
  const use = async (key: string, times = 1): Promise<void> => {
    for (let i = 0; i < times; i += 1) await limiters[i % processes]?.consume(key);
    await vi.advanceTimersByTimeAsync(0);
  };
  const shown = () => told.splice(0).map(({ key, threshold, used }) => [key, threshold, used]);
  return { memory, store, told, faults, use, shown, limiters };
}

describe('a limit of concurrent requests', () => {
  it('has no period, so nothing is reported or stored', async () => {
    const store = memoryStore();
    const told: Crossed[] = [];
    const faults: Fault[] = [];
    const observer = thresholds({ quota: [0.5] }, (crossed) => told.push(crossed), {
      store,
      onFault: (fault) => faults.push(fault),
    });
    const limiter = concurrencyLimit({ name: 'quota', limit: 2, key: 'all' });
    const guard = createGuard(limiter, { store, observers: [observer] });
    for (let i = 0; i < 2; i += 1) await guard.admit(request());
    await new Promise(setImmediate);
    expect([told, faults]).toEqual([[], []]);
  });
});

describe('a share of a quota', () => {
  fakeTime();

  it('is reported when it is reached, once in each period', async () => {
    const { use, shown, told } = fleet();
    await use('ada', 7);
    expect(told).toEqual([]);
    await use('ada');
    expect(told).toEqual([
      {
        id: '["quota","ada","0.8 of 10","2026-01-01T00:00:00.000Z"]',
        limiter: 'quota',
        key: 'ada',
        threshold: 0.8,
        used: 8,
        limit: 10,
        resetsAt: new Date('2026-01-02T00:00:00Z'),
      },
    ]);
    await use('ada', 20);
    await use('bob', 12);
    expect(shown().slice(1)).toEqual([
      ['ada', 1, 10],
      ['bob', 0.8, 8],
      ['bob', 1, 10],
    ]);
    await vi.advanceTimersByTimeAsync(DAY);
    await use('ada', 30);
    expect(shown()).toEqual([
      ['ada', 0.8, 8],
      ['ada', 1, 10],
    ]);
  });

  it('is reported by one of many processes', async () => {
    const { use, shown, limiters } = fleet(8);
    await use('ada', 7);
    await Promise.all(limiters.flatMap((limiter) => [1, 2, 3].map(() => limiter.consume('ada'))));
    await use('ada', 100);
    expect(shown().map(([, threshold]) => threshold)).toEqual([0.8, 1]);
  });

  it('is reported again with its id if the process is killed that does so, also to who is rejected', async () => {
    const never = new Promise(() => undefined);
    const tellers: number[] = [];
    const { use, told } = fleet(2, [1], (_, process) => {
      tellers.push(process);
      return tellers.length === 1 ? never : undefined;
    });
    await use('ada', 11);
    expect(told).toHaveLength(1);
    await use('ada', 9);
    expect(told).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(61_000);
    await use('ada', 4);
    expect(told).toHaveLength(2);
    expect(told[1]?.id).toBe(told[0]?.id);
    expect(tellers).toEqual([1, 0]);
    await vi.advanceTimersByTimeAsync(600_000);
    await use('ada', 8);
    expect(told).toHaveLength(2);
  });

  it('is reported again a minute after the callback has failed', async () => {
    let fails = true;
    const { use, told, faults } = fleet(1, [0.5], () => {
      if (fails) throw new Error('no mail today');
    });
    await use('ada', 9);
    expect(faults).toMatchObject([{ limiter: 'quota', source: 'observer' }]);
    expect(told).toHaveLength(1);
    fails = false;
    await vi.advanceTimersByTimeAsync(61_000);
    await use('ada', 9);
    expect(told).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(61_000);
    await use('ada', 9);
    expect(told).toHaveLength(2);
  });

  it('is compared exactly', async () => {
    const all = Array.from({ length: 100 }, (_, at) => (at + 1) / 100);
    const store = memoryStore();
    const told: [number, number][] = [];
    const observer = thresholds({ quota: all }, (one) => told.push([one.threshold, one.used]), {
      store,
    });
    const limiter = createLimiter(
      { name: 'quota', limit: 100, window: '1d', algorithm: fixedWindow },
      { store, observers: [observer] },
    );
    for (let i = 0; i < 100; i += 1) {
      limiter.consume('ada');
      await vi.advanceTimersByTimeAsync(0);
    }
    expect(told).toEqual(all.map((share) => [share, Math.round(100 * share)]));
  });

  it('is reported anew for another limit, and with overage beyond the limit', async () => {
    const store = memoryStore();
    const told: string[] = [];
    const observer = thresholds(
      { quota: [1, 1.5] },
      ({ threshold, limit, used }) => told.push(`${threshold} of ${limit}: ${used}`),
      { store },
    );
    const limiter = createLimiter(
      { name: 'quota', limit: 4, window: calendar('day'), overage: 'allow' },
      { store, observers: [observer] },
    );
    for (let i = 0; i < 7; i += 1) limiter.consume('ada');
    for (let i = 0; i < 2; i += 1) limiter.consume('ada', { plan: { limit: 8 } });
    await vi.advanceTimersByTimeAsync(0);
    expect(told).toEqual(['1 of 4: 4', '1.5 of 4: 6', '1 of 8: 8']);
  });

  it('is not reported for a limit in shadow mode, for other limits, or while the store fails', async () => {
    const { store, memory, use, shown } = fleet();
    const told: Crossed[] = [];
    const observers: Observer[] = [
      thresholds({ shadow: [0.1], locked: [0.5] }, (crossed) => told.push(crossed), { store }),
    ];
    const guard = createGuard(
      [
        rateLimit({ name: 'shadow', limit: 2, window: '1d', key: 'all', mode: 'shadow' }),
        rateLimit({ name: 'other', limit: 2, window: '1d', key: 'all' }),
        rateLimit({ name: 'locked', limit: 2, window: '1d', key: 'all', penalty: lockFor(['1d']) }),
      ],
      { store, observers },
    );
    for (let i = 0; i < 3; i += 1) await guard.admit(request());
    await vi.advanceTimersByTimeAsync(0);
    expect(told.map(({ limiter }) => limiter)).toEqual(['locked']);
    const apply = vi.spyOn(memory, 'apply').mockImplementation(() => {
      throw new Error('down');
    });
    await use('ada', 20);
    apply.mockRestore();
    expect(shown()).toEqual([]);
  });

  it('is remembered for keys of any length', async () => {
    const { use, shown, memory } = fleet(1, [1]);
    const apply = vi.spyOn(memory, 'apply');
    const key = 'k'.repeat(8_000);
    await use(key, 10);
    expect(shown()).toEqual([[key, 1, 10]]);
    apply.mockClear();
    await use(key, 5);
    expect(apply).toHaveBeenCalled();
    const steps = apply.mock.calls.flatMap(([own]) => own);
    expect(steps.filter(({ claim }) => claim)).toEqual([]);
  });

  it.each([
    [() => thresholds(null as never, () => 1, { store: memoryStore() }), 'shares must be'],
    [() => thresholds({ a: [0] }, () => 1, { store: memoryStore() }), 'numbers above 0'],
    [() => thresholds({ a: 0.8 as never }, () => 1, { store: memoryStore() }), 'numbers above 0'],
    [() => thresholds({ a: [1] }, 1 as never, { store: memoryStore() }), 'onCrossed must be'],
    [() => thresholds({ a: [1] }, () => 1, {} as never), 'store'],
    [() => thresholds({ a: [1] }, () => 1, { stor: 1 } as never), '"store"'],
    [
      () => thresholds({ a: [1] }, () => 1, { store: memoryStore(), onFault: 5 as never }),
      'onFault must be a function, got 5',
    ],
    [
      () => thresholds({ a: [1] }, () => 1, { store: memoryStore(), logger: 5 as never }),
      'logger must be an object with warn(), got 5',
    ],
  ])('needs valid arguments (%#)', (make, message) => {
    expect(make).toThrow(message);
  });
});

describe('a share of a period', () => {
  fakeTime();

  const begin = Date.UTC(2026, 0, 1);
  /** A quota of 10 by billing period. Each call is made by a new process, without a cache. */
  function billed() {
    const store = memoryStore({ clock: systemClock });
    const told: string[] = [];
    const use = async (period: BillingPeriod, cost = 1, isSame = false): Promise<void> => {
      if (!isSame) limiter = make();
      await limiter.consume('ada', { period, cost });
      await vi.advanceTimersByTimeAsync(0);
    };
    const make = () =>
      createLimiter(
        { name: 'quota', limit: 10, window: calendar(() => undefined as never) },
        {
          store,
          observers: [thresholds({ quota: [0.8] }, ({ id }) => told.push(id), { store })],
        },
      );
    let limiter = make();
    return { use, told };
  }

  it.each([false, true])(
    'is reported in a period that begins early (one process: %j)',
    async (isSame) => {
      const { use, told } = billed();
      await use({ id: 'a', start: begin - DAY, end: begin + 20 * DAY }, 8, isSame);
      await vi.advanceTimersByTimeAsync(DAY);
      const next = { id: 'b', start: begin + DAY, end: begin + 31 * DAY };
      for (let n = 0; n < 10; n += 1) await use(next, 1, isSame);
      expect(told).toEqual([
        '["quota","ada","0.8 of 10","2025-12-31T00:00:00.000Z"]',
        '["quota","ada","0.8 of 10","2026-01-02T00:00:00.000Z"]',
      ]);
    },
  );

  it.each([1, 2])(
    'is reported in a period that begins early and is not crossed here (%i)',
    async (n) => {
      const store = memoryStore({ clock: systemClock });
      const told: string[] = [];
      let fails = false;
      const options = { name: 'quota', limit: 10, window: calendar(() => undefined as never) };
      const make = () => {
        const tell = ({ id }: Crossed) => {
          if (fails) throw new Error('no mail server');
          told.push(id);
        };
        const observers = [thresholds({ quota: [0.8] }, tell, { store, logger: false })];
        return createLimiter(options, { store, observers, logger: false });
      };
      const limiters = Array.from({ length: n }, make);
      const first = { id: 'a', start: begin - DAY, end: begin + 20 * DAY };
      for (const limiter of limiters) limiter.consume('ada', { period: first, cost: 8 });
      await vi.advanceTimersByTimeAsync(DAY);
      const period = { id: 'b', start: begin + DAY, end: begin + 31 * DAY };
      if (n === 1) createLimiter(options, { store }).consume('ada', { period, cost: 9 });
      fails = true;
      limiters[1]?.consume('ada', { period, cost: 9 });
      await vi.advanceTimersByTimeAsync(61_000);
      fails = false;
      limiters[0]?.consume('ada', { period });
      await vi.advanceTimersByTimeAsync(0);
      expect(told).toEqual([
        '["quota","ada","0.8 of 10","2025-12-31T00:00:00.000Z"]',
        '["quota","ada","0.8 of 10","2026-01-02T00:00:00.000Z"]',
      ]);
    },
  );

  it('has another id in the next billing period, if the start of the first was unknown', async () => {
    const { use, told } = billed();
    const next = { id: 'next', start: begin + 2 * DAY, end: begin + 30 * DAY };
    await use(next, 8);
    await vi.advanceTimersByTimeAsync(2 * DAY);
    await use(next, 8);
    expect(told).toEqual([
      '["quota","ada","0.8 of 10",{"until":"2026-01-03T00:00:00.000Z"}]',
      '["quota","ada","0.8 of 10","2026-01-03T00:00:00.000Z"]',
    ]);
  });

  it('is not reported in the next period, if the store is asked after the first has ended', async () => {
    const memory = memoryStore({ clock: systemClock });
    let delayMs = 5_000;
    const store = remoteStore({
      sync: false,
      async apply(steps) {
        if (steps[0]?.op === 'look') await new Promise((done) => setTimeout(done, delayMs));
        return memory.apply(steps);
      },
    });
    const told: Crossed[] = [];
    const observers = [thresholds({ quota: [0.8] }, (crossed) => told.push(crossed), { store })];
    const options = { name: 'quota', limit: 10, window: calendar('day') } as const;
    const limiter = createLimiter(options, { store, observers, logger: false });
    await vi.advanceTimersByTimeAsync(begin + DAY - 1_000 - Date.now());
    await limiter.consume('ada', { cost: 8 });
    await vi.advanceTimersByTimeAsync(2_000);
    await limiter.consume('ada');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(told).toEqual([]);
    delayMs = 0;
    await limiter.consume('ada', { cost: 8 });
    await vi.advanceTimersByTimeAsync(0);
    expect(told).toMatchObject([{ used: 9, resetsAt: new Date('2026-01-03T00:00:00Z') }]);
  });

  it.each([true, false])(
    'is not reported after a period whose count has expired (one was read before: %j)',
    async (isRead) => {
      const memory = memoryStore({ clock: systemClock });
      let delayMs = 0;
      const store = remoteStore({
        sync: false,
        async apply(steps) {
          if (steps[0]?.op === 'look') await new Promise((done) => setTimeout(done, delayMs));
          return memory.apply(steps);
        },
      });
      const told: string[] = [];
      const observers = [thresholds({ quota: [0.8] }, ({ id }) => told.push(id), { store })];
      const options = { name: 'quota', limit: 10, window: calendar('day') } as const;
      const limiter = createLimiter(options, { store, observers, logger: false });
      if (isRead) await limiter.consume('bob', { cost: 8 });
      await vi.advanceTimersByTimeAsync(begin + DAY - 100 - Date.now());
      delayMs = 500;
      await limiter.consume('ada', { cost: 8 });
      await vi.advanceTimersByTimeAsync(2_000);
      await limiter.consume('ada', { cost: 8 });
      await vi.advanceTimersByTimeAsync(2_000);
      expect(told).toEqual([
        ...(isRead ? ['["quota","bob","0.8 of 10","2026-01-01T00:00:00.000Z"]'] : []),
        '["quota","ada","0.8 of 10","2026-01-02T00:00:00.000Z"]',
      ]);
    },
  );

  it('is not reported after a period that ended while the reply to the request was on its way', async () => {
    const memory = memoryStore({ clock: systemClock });
    const store = remoteStore({
      sync: false,
      async apply(steps) {
        const answers = memory.apply(steps);
        if (steps[0]?.op === 'take') await new Promise((done) => setTimeout(done, 300));
        return answers;
      },
    });
    const told: string[] = [];
    const observers = [thresholds({ quota: [0.8] }, ({ id }) => told.push(id), { store })];
    const options = { name: 'quota', limit: 10, window: calendar('day') } as const;
    const settings = { store, observers, logger: false, storeTimeout: '1s' } as const;
    const limiter = createLimiter(options, settings);
    await vi.advanceTimersByTimeAsync(begin + DAY - 200 - Date.now());
    const decided = limiter.consume('ada', { cost: 8 });
    await vi.advanceTimersByTimeAsync(2_000);
    expect((await decided).allowed).toBe(true);
    expect(told).toEqual([]);
  });

  it.each([
    ['1s', fixedWindow],
    ['50ms', tokenBucket],
  ] as const)('is reported though a window of %s ended meanwhile', async (window, algorithm) => {
    const memory = memoryStore({ clock: systemClock });
    const wait = () => new Promise((done) => setTimeout(done, 30));
    const store = remoteStore({
      sync: false,
      async apply(steps) {
        await wait();
        const answers = memory.apply(steps);
        await wait();
        return answers;
      },
    });
    const told: number[] = [];
    const observers = [thresholds({ quota: [0.8] }, ({ used }) => told.push(used), { store })];
    const options = { name: 'quota', limit: 10, window, algorithm } as const;
    const settings = { store, observers, logger: false, storeTimeout: '1s' } as const;
    const limiter = createLimiter(options, settings);
    await vi.advanceTimersByTimeAsync(1_000 - (Date.now() % 1_000) - 60);
    const decided = limiter.consume('ada', { cost: 9 });
    await vi.advanceTimersByTimeAsync(5_000);
    expect((await decided).allowed).toBe(true);
    expect(told).toEqual([9]);
  });

  it('has one id in a period that is extended, although it is reported again', async () => {
    const { use, told } = billed();
    const period = { id: 'a', start: begin - DAY, end: begin + DAY };
    const extended = { ...period, end: begin + 9 * DAY };
    await use(period, 8);
    await use(extended);
    await vi.advanceTimersByTimeAsync(2 * DAY);
    await use(extended);
    expect(told).toHaveLength(2);
    expect(new Set(told).size).toBe(1);
  });

  it('is reported once in a period that is extended', async () => {
    const { use, told } = billed();
    await use({ id: 'a', start: begin - DAY, end: begin + DAY }, 8);
    await use({ id: 'a', start: begin - DAY, end: begin + 9 * DAY });
    expect(told).toHaveLength(1);
  });

  it.each([16, 1])(
    'makes no calls for rejections after its end was moved to %i days from now',
    async (days) => {
      const store = memoryStore({ clock: systemClock });
      const limiter = createLimiter(
        { name: 'quota', limit: 10, window: calendar(() => undefined as never) },
        { store, observers: [thresholds({ quota: [0.5, 1] }, () => undefined, { store })] },
      );
      const period = { id: 'a', start: Date.now() - 10 * DAY, end: Date.now() + 2 * DAY };
      const moved = { ...period, end: Date.now() + days * DAY };
      const use = async (own: BillingPeriod) => {
        await limiter.consume('ada', { period: own });
        await vi.advanceTimersByTimeAsync(0);
      };
      for (let n = 0; n < 10; n += 1) await use(period);
      await use(moved);
      const apply = vi.spyOn(store, 'apply');
      // Other servers still have the old end.
      for (let n = 0; n < 10; n += 1) await use(n % 2 ? moved : period);
      expect(apply).toHaveBeenCalledTimes(10);
    },
  );

  it('makes no calls while two servers know different ends, also for admitted requests', async () => {
    const store = memoryStore({ clock: systemClock });
    const limiter = createLimiter(
      { name: 'quota', limit: 10, window: calendar(() => undefined as never), overage: 'allow' },
      { store, observers: [thresholds({ quota: [0.5, 1] }, () => undefined, { store })] },
    );
    const period = { id: 'a', start: Date.now() - 10 * DAY, end: Date.now() + 2 * DAY };
    const moved = { ...period, end: Date.now() + 16 * DAY };
    const use = async (times: number) => {
      for (let n = 0; n < times; n += 1) {
        await limiter.consume('ada', { period: n % 2 ? moved : period });
        await vi.advanceTimersByTimeAsync(0);
      }
    };
    await use(14);
    const apply = vi.spyOn(store, 'apply');
    await use(10);
    expect(apply).toHaveBeenCalledTimes(10);
  });

  it.each<Pick<LimiterOptions, 'window' | 'algorithm'>>([
    { window: calendar('day') },
    { window: '1d', algorithm: fixedWindow },
    { window: '1d', algorithm: slidingWindow },
    { window: '1d', algorithm: tokenBucket },
  ])('has one id, however late the answers of the store are read: %j', async (windowed) => {
    const memory = memoryStore({ clock: systemClock });
    const ids: string[] = [];
    const make = (delayMs: number) => {
      const store = remoteStore({
        sync: false,
        async apply(steps) {
          const answers = await memory.apply(steps);
          if (steps[0]?.op === 'take' && steps[0].limiter === 'quota')
            await new Promise((done) => setTimeout(done, delayMs));
          return answers;
        },
      });
      const fails = ({ id }: Crossed) => {
        ids.push(id);
        throw new Error('no mail server');
      };
      const observers = [thresholds({ quota: [0.8] }, fails, { store, logger: false })];
      const limit = { name: 'quota', limit: 10, ...windowed };
      return createLimiter(limit, { store, observers, storeTimeout: '5s', logger: false });
    };
    await Promise.all([make(900).consume('ada', { cost: 8 }), vi.advanceTimersByTimeAsync(60_000)]);
    await vi.advanceTimersByTimeAsync(10_000);
    await Promise.all([make(1).consume('ada'), vi.advanceTimersByTimeAsync(1_000)]);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
  });

  it('is reported in each window, although the callback takes long', async () => {
    const store = memoryStore({ clock: systemClock });
    const told: Crossed[] = [];
    const slow = (crossed: Crossed) => {
      told.push(crossed);
      return new Promise((done) => setTimeout(done, 20_000));
    };
    const limiter = createLimiter(
      { name: 'quota', limit: 10, window: '1d', algorithm: fixedWindow },
      { store, observers: [thresholds({ quota: [1] }, slow, { store })] },
    );
    for (let day = 0; day < 4; day += 1) {
      const { resetMs } = await limiter.consume('ada', { cost: 10 });
      await vi.advanceTimersByTimeAsync(resetMs);
    }
    expect(told).toHaveLength(4);
  });

  it('makes no calls of the store while a bucket is used about as fast as it refills', async () => {
    const store = memoryStore({ clock: systemClock });
    const limiter = createLimiter(
      { name: 'quota', limit: 10, window: '10s' },
      { store, observers: [thresholds({ quota: [0.8] }, () => undefined, { store })] },
    );
    await limiter.consume('ada', { cost: 8 });
    await vi.advanceTimersByTimeAsync(0);
    const apply = vi.spyOn(store, 'apply');
    for (let n = 0; n < 5; n += 1) {
      await vi.advanceTimersByTimeAsync(1_000);
      await limiter.consume('ada');
    }
    await vi.advanceTimersByTimeAsync(0);
    const others = apply.mock.calls.flatMap(([steps]) => steps).filter(({ op }) => op === 'look');
    expect(others).toEqual([]);
  });

  it('is reported although callbacks for other keys never end', async () => {
    const hangs = ({ key }: Crossed) => (key === 'ada' ? undefined : new Promise(() => undefined));
    const { use, shown, faults } = fleet(1, [0.1], hangs);
    for (let n = 0; n < 100; n += 1) await use(`key-${n}`);
    expect(shown()).toHaveLength(100);
    await vi.advanceTimersByTimeAsync(61_000);
    expect(faults).toHaveLength(100);
    await use('ada');
    await use('key-0');
    expect(shown()).toEqual([
      ['ada', 0.1, 1],
      ['key-0', 0.1, 2],
    ]);
  });

  it.each<[string, (step: Step) => boolean]>([
    ['look', ({ op }) => op === 'look'],
    ['claim', ({ op, claim }) => op === 'take' && claim !== undefined],
    ['mark', ({ op }) => op === 'done'],
  ])('is reported after calls that the store never answered: the %s', async (_, hangs) => {
    const { memory, use, shown, faults } = fleet(1, [0.1]);
    const apply = memory.apply.bind(memory);
    const hanging = vi.spyOn(memory, 'apply').mockImplementation((steps) => {
      // The store applies a claim, but its reply is lost.
      const answers = apply(steps);
      return steps.some(hangs) ? (new Promise(() => undefined) as never) : answers;
    });
    for (let n = 0; n < 100; n += 1) await use(`key-${n}`);
    shown();
    await vi.advanceTimersByTimeAsync(10_100);
    expect(faults).toHaveLength(100);
    expect(String(faults[0]?.error)).toMatch(/no answer within 10000 ms/);
    hanging.mockRestore();
    await use('ada');
    await vi.advanceTimersByTimeAsync(60_000);
    await use('key-0');
    expect(shown().map(([key]) => key)).toEqual(_ === 'mark' ? ['ada'] : ['ada', 'key-0']);
    expect(faults).toHaveLength(100);
  });

  it('must be a number', () => {
    const store = memoryStore();
    for (const own of [['0.8'], [1n, 0.8]] as unknown as number[][]) {
      expect(() => thresholds({ quota: own }, () => undefined, { store })).toThrow(
        /numbers above 0/,
      );
    }
  });
});
