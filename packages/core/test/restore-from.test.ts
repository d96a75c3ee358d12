/** `restoreFrom`: a store that has lost the counts of a quota gets them back from the records of the app. */

import {
  type BillingPeriod,
  calendar,
  createGuard,
  createLimiter,
  type Fault,
  type KeyedLimiter,
  type LimiterOptions,
  memoryStore,
  rateLimit,
  restoreFrom,
  type UsedUnits,
} from '@spillway/core';
import {
  calendarNamed,
  makeCalendarRule,
  remoteStore,
  type Step,
  type SyncStore,
  stateStore,
  systemClock,
} from '@spillway/core/store';
import { fakeTime, request } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';

const QUOTA = { name: 'quota', limit: 10, window: calendar('month') } as const;

/** Processes with a quota on one store that can lose its data, and an app that records each admitted request. */
function fleet({
  processes = 1,
  load,
  options = QUOTA,
  plan,
}: {
  processes?: number;
  load?: UsedUnits;
  options?: LimiterOptions;
  plan?: { limit: number };
} = {}) {
  let memory = memoryStore({ clock: systemClock });
  let called = (_: readonly Step[]): unknown => undefined;
  const store = remoteStore({
    sync: false,
    apply: async (steps) => {
      await called(steps);
      return memory.apply(steps);
    },
  });
  const onCall = (then: typeof called): void => {
    called = then;
  };
  const books = new Map<string, number>();
  const loads: string[] = [];
  const faults: Fault[] = [];
  const restoring = () =>
    restoreFrom(
      {
        quota: (key, period) => {
          loads.push(`${key} ${period.start.toISOString()} ${period.end.toISOString()}`);
          return load ? load(key, period) : (books.get(key) ?? 0);
        },
      },
      { store, onFault: (fault) => faults.push(fault) },
    );
  const limiters = Array.from({ length: processes }, () =>
    createLimiter(options, { store, observers: [restoring()] }),
  );
  let turn = 0;
  /** Consumes one after another, and returns how many were admitted. */
  const use = async (key: string, times = 1): Promise<number> => {
    let admitted = 0;
    for (let i = 0; i < times; i += 1) {
      turn += 1;
      const decision = await limiters[turn % processes]?.consume(key, { plan });
      if (decision?.allowed) {
        admitted += 1;
        books.set(key, (books.get(key) ?? 0) + 1);
      }
      await vi.advanceTimersByTimeAsync(0);
    }
    return admitted;
  };
  const lose = (): void => {
    memory = memoryStore({ clock: systemClock });
  };
  const usedOf = async (key: string) => (await limiters[0]?.peek(key))?.used;
  return { books, loads, faults, use, lose, onCall, limiters, usedOf, store, restoring };
}

describe('a count that the store lost', () => {
  fakeTime();

  it('is loaded with the first request of the key, and once in a period', async () => {
    const { use, lose, loads, faults, books } = fleet();
    expect(await use('ada', 8)).toBe(8);
    expect(loads).toEqual(['ada 2026-01-01T00:00:00.000Z 2026-02-01T00:00:00.000Z']);
    lose();
    expect(await use('ada', 8)).toBe(2);
    expect(loads).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(31 * 86_400_000);
    books.clear();
    expect(await use('ada', 3)).toBe(3);
    expect(loads).toHaveLength(3);
    expect(loads[2]).toBe('ada 2026-02-01T00:00:00.000Z 2026-03-01T00:00:00.000Z');
    expect(faults).toEqual([]);
  });

  it('is loaded by one of many processes, whoever meets it', async () => {
    const { use, lose, loads, usedOf, limiters, books } = fleet({ processes: 8 });
    await use('ada', 7);
    expect(loads).toHaveLength(1);
    lose();
    const decisions = await Promise.all(limiters.map((limiter) => limiter.consume('ada')));
    expect(decisions.every(({ allowed }) => allowed)).toBe(true);
    books.set('ada', 15);
    await vi.advanceTimersByTimeAsync(0);
    expect(loads).toHaveLength(2);
    expect(await use('ada', 16)).toBe(0);
    expect(await usedOf('ada')).toBe(15);
    expect(loads).toHaveLength(2);
  });

  it('is raised, never lowered, and what was admitted meanwhile stays counted', async () => {
    let answer = (_: number): void => undefined;
    const { use, usedOf } = fleet({
      load: () => new Promise((resolve) => (answer = resolve)),
    });
    await use('ada', 3);
    answer(2);
    await vi.advanceTimersByTimeAsync(0);
    expect(await usedOf('ada')).toBe(3);
  });

  it('is not restored after an operator has reset it', async () => {
    const { use, loads, usedOf, limiters } = fleet({ processes: 2 });
    await use('ada', 6);
    await limiters[0]?.reset('ada');
    await use('ada', 2);
    expect([await usedOf('ada'), loads.length]).toEqual([2, 1]);
  });

  it.each([0, 1, 2, 3, 4, 5, 6])(
    'is restored if it is lost again within %i calls',
    async (calls) => {
      const { use, lose, loads, usedOf, books, onCall } = fleet();
      await use('ada', 2);
      books.set('ada', 7);
      lose();
      let left = calls;
      onCall(() => {
        left -= 1;
        if (left === -1) lose();
      });
      await use('ada');
      await vi.advanceTimersByTimeAsync(10_000);
      await use('ada', 9);
      expect(await usedOf('ada')).toBe(10);
      expect(books.get('ada')).toBeLessThanOrEqual(12);
      expect(loads.length).toBeLessThanOrEqual(3);
    },
  );

  it('is restored if it is lost during a load, with the units used since that began', async () => {
    const { books, use, lose, loads, usedOf } = fleet({
      options: { ...QUOTA, limit: 100 },
      load: async (key) => {
        const used = books.get(key) ?? 0;
        await new Promise((done) => setTimeout(done, 1_000));
        return used;
      },
    });
    await use('ada', 50);
    await vi.advanceTimersByTimeAsync(500);
    lose();
    await use('ada');
    await vi.advanceTimersByTimeAsync(2_000);
    await use('ada');
    await vi.advanceTimersByTimeAsync(2_000);
    await use('ada');
    expect([await usedOf('ada'), loads.length]).toEqual([53, 2]);
  });

  it('is restored if it is lost as its mark is set, though others count as many units as were loaded', async () => {
    const { books, use, lose, loads, usedOf, onCall, store } = fleet({
      load: async (key) => {
        const used = books.get(key) ?? 0;
        await new Promise((done) => setTimeout(done, 1_000));
        return used;
      },
    });
    const rule = makeCalendarRule(10, calendarNamed('month@UTC'));
    const take: Step = { op: 'take', limiter: 'quota', key: 'ada', rule, cost: 1, binding: true };
    onCall((steps) => {
      if (!steps.some(({ op }) => op === 'done')) return;
      lose();
      onCall(() => undefined);
      void store.apply([take]);
    });
    await use('ada', 5);
    await vi.advanceTimersByTimeAsync(1_000);
    await use('ada');
    await vi.advanceTimersByTimeAsync(1_000);
    expect([await usedOf('ada'), loads.length]).toEqual([6, 2]);
  });

  it('is not raised in the next period, if that has begun before the raise arrives', async () => {
    const memory = memoryStore({ clock: systemClock });
    const delayed: number[] = [];
    const store = remoteStore({
      sync: false,
      async apply(steps, { deadlineUs = Infinity } = {}) {
        const [{ op, cost, claim } = {} as Step] = steps;
        if (op === 'take' && cost === 8 && !claim) {
          delayed.push(cost);
          await new Promise((done) => setTimeout(done, 2_000));
        }
        if (systemClock.nowUs() > deadlineUs) throw new Error('too late');
        return memory.apply(steps);
      },
    });
    const faults: Fault[] = [];
    const onFault = (fault: Fault) => faults.push(fault);
    const observers = [restoreFrom({ quota: () => 9 }, { store, onFault })];
    const limiter = createLimiter(QUOTA, { store, observers });
    await vi.advanceTimersByTimeAsync(Date.UTC(2026, 1, 1) - Date.now() - 1_000);
    await limiter.consume('ada');
    await vi.advanceTimersByTimeAsync(3_000);
    expect((await limiter.peek('ada')).used).toBe(0);
    expect([delayed, String(faults[0]?.error)]).toEqual([[8], 'Error: too late']);
  });

  it('has no units in the next period, if it was lost before its raise and not used again', async () => {
    const { use, lose, usedOf, onCall } = fleet({ load: () => 9 });
    // Until 7 February, a count begun now would last if its period were unknown.
    await vi.advanceTimersByTimeAsync(Date.UTC(2026, 0, 31) - Date.now());
    let raises = 0;
    onCall(([step]) => {
      if (step?.op !== 'take' || step.cost !== 8) return;
      raises += 1;
      lose();
    });
    await use('ada');
    expect([await usedOf('ada'), raises]).toEqual([0, 1]);
    await vi.advanceTimersByTimeAsync(2 * 86_400_000);
    expect(await usedOf('ada')).toBe(0);
  });

  it('is restored by the next request, if it was lost before its raise', async () => {
    const { use, lose, usedOf, loads, onCall } = fleet({ load: () => 8 });
    onCall(([step]) => {
      if (step?.op !== 'take' || step.cost !== 7) return;
      onCall(() => undefined);
      lose();
    });
    await use('ada', 2);
    expect([await usedOf('ada'), loads.length]).toEqual([8, 2]);
  });

  it('is restored if it is lost while the call that sets its mark is on its way', async () => {
    const { use, lose, usedOf, books, onCall } = fleet();
    onCall(async (steps) => {
      if (!steps.some(({ op }) => op === 'done')) return;
      onCall(() => undefined);
      await new Promise((done) => setTimeout(done, 5_000));
    });
    await use('ada', 8);
    lose();
    await use('ada');
    await vi.advanceTimersByTimeAsync(5_000);
    await use('ada');
    expect([await usedOf('ada'), books.get('ada')]).toEqual([10, 10]);
  });

  it('is restored if another process has loaded it before a raise is given back', async () => {
    const { lose, limiters, usedOf, onCall } = fleet({ processes: 2, load: () => 8 });
    const use = async (process: number) => {
      await limiters[process]?.consume('ada');
      await vi.advanceTimersByTimeAsync(0);
    };
    onCall(async ([step]) => {
      if (step?.op === 'take' && step.cost === 7) lose();
      if (step?.op === 'put') await new Promise((done) => setTimeout(done, 1_000));
    });
    await use(0);
    await use(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await usedOf('ada')).toBe(1);
    await vi.advanceTimersByTimeAsync(9_000);
    await use(1);
    expect(await usedOf('ada')).toBe(8);
  });

  it('is restored if the process that begins it is killed, and the other knew fewer units', async () => {
    let load = (): number | Promise<number> => 0;
    const { lose, limiters, usedOf } = fleet({ processes: 2, load: () => load() });
    const use = async (process: number) => {
      await limiters[process]?.consume('ada');
      await vi.advanceTimersByTimeAsync(0);
    };
    await use(1);
    lose();
    load = () => new Promise(() => undefined);
    await use(0);
    load = () => 9;
    await use(1);
    expect(await usedOf('ada')).toBe(2);
    await vi.advanceTimersByTimeAsync(10_000);
    await use(1);
    expect(await usedOf('ada')).toBe(9);
  });

  it('is restored within ten seconds if units that no decision has begin it', async () => {
    const { lose, store, use, usedOf } = fleet({ load: () => 9 });
    await use('ada', 2);
    lose();
    await createLimiter(QUOTA, { store }).consume('ada', { cost: 5 });
    await use('ada');
    await vi.advanceTimersByTimeAsync(10_000);
    await use('ada');
    expect(await usedOf('ada')).toBe(9);
  });

  it('is looked for with one call in ten seconds, and not for rejections', async () => {
    let calls = 0;
    const { use, onCall } = fleet({ options: { ...QUOTA, limit: 1 }, load: () => 0 });
    await use('ada');
    onCall(() => {
      calls += 1;
    });
    for (let second = 1; second <= 60; second += 1) {
      await vi.advanceTimersByTimeAsync(1_000);
      await use('ada');
    }
    const firstRejection = 1; // the others are cached
    expect(calls).toBe(firstRejection + 6);
  });

  it('goes beyond the limit of the code where a plan has a higher one', async () => {
    const { use, lose, usedOf } = fleet({ plan: { limit: 40 } });
    expect(await use('ada', 35)).toBe(35);
    lose();
    expect(await use('ada', 20)).toBe(5);
    expect(await usedOf('ada')).toBe(40);
  });

  it('is loaded in a billing period, which stays', async () => {
    const DAY = 86_400_000;
    const start = Date.UTC(2025, 11, 20);
    const period = { id: 'in_17', start, end: start + 30 * DAY };
    const { lose, loads, limiters, faults } = fleet({
      options: { ...QUOTA, window: calendar(() => period) },
      load: () => 9,
    });
    const use = async () => {
      const decision = await limiters[0]?.consume('ada', { period });
      await vi.advanceTimersByTimeAsync(0);
      return [decision?.allowed, decision?.used];
    };
    expect(await use()).toEqual([true, 1]);
    lose();
    expect(await use()).toEqual([true, 1]);
    expect(await use()).toEqual([true, 10]);
    expect(await use()).toEqual([false, 10]);
    expect(loads[1]).toBe('ada 2025-12-20T00:00:00.000Z 2026-01-19T00:00:00.000Z');
    expect(faults).toEqual([]);
  });

  it('is restored in a store of texts', async () => {
    const rows = new Map<string, string>();
    const store = stateStore({
      transact: async (names, decide) => {
        const changes = decide(
          names.map((name) => rows.get(name)),
          systemClock.nowUs(),
        );
        for (const [name, state] of changes) {
          if (state) rows.set(name, state.text);
          else rows.delete(name);
        }
      },
    });
    const restoring = restoreFrom({ quota: () => 9 }, { store });
    const limiter = createLimiter(QUOTA, { store, observers: [restoring] });
    for (const used of [
      [1, 10],
      [1, 10],
    ]) {
      const decisions = [];
      for (let i = 0; i < 2; i += 1) {
        decisions.push((await limiter.consume('ada')).used);
        await vi.advanceTimersByTimeAsync(0);
      }
      expect(decisions).toEqual(used);
      rows.clear();
    }
  });

  it('is restored for limiters of a guard, whose platform waits', async () => {
    const { store, restoring, loads } = fleet();
    const waited: unknown[] = [];
    const guard = createGuard(rateLimit({ ...QUOTA, key: () => 'ada' }), {
      store,
      observers: [restoring()],
    });
    await guard.admit(request({ waitUntil: (work: unknown) => waited.push(work) > 0 }));
    await Promise.all(waited);
    expect([waited.length, loads.length]).toEqual([1, 1]);
  });
});

describe('a load that goes wrong', () => {
  fakeTime();

  it.each<[string, UsedUnits, RegExp]>([
    [
      'throws',
      () => {
        throw new Error('no records');
      },
      /no records/,
    ],
    ['rejects', () => Promise.reject(new Error('no records')), /no records/],
    ['hangs', () => new Promise(() => undefined), /no answer within 2000 ms/],
    ['is no number', () => Number.NaN, /restoreFrom of limiter "quota" returned NaN/],
    ['is negative', () => -1, /returned -1/],
    ['is a fraction', () => 1.5, /returned 1.5/],
    ['is a string', () => '5' as unknown as number, /returned "5"/],
    ['is too large', () => 2 ** 52, /returned 4503599627370496/],
  ])('%s: a fault, and it is loaded again after ten seconds', async (_, load, message) => {
    const { use, faults, loads, usedOf } = fleet({ load });
    await use('ada', 3);
    await vi.advanceTimersByTimeAsync(2_100);
    expect(faults).toMatchObject([{ limiter: 'quota', source: 'observer' }]);
    expect(String(faults[0]?.error)).toMatch(message);
    await use('ada', 3);
    expect(loads).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(10_000);
    await use('ada');
    expect(loads).toHaveLength(2);
    expect(await usedOf('ada')).toBe(7);
  });

  it('does not run for more than eight keys at once', async () => {
    const answers: ((used: number) => void)[] = [];
    const { use, loads } = fleet({ load: () => new Promise((resolve) => answers.push(resolve)) });
    for (let at = 0; at < 1_000; at += 1) await use(`key ${at}`);
    expect(loads).toHaveLength(8);
    for (const answer of answers) answer(5);
    await vi.advanceTimersByTimeAsync(0);
    await use('key 900');
    expect(loads).toHaveLength(9);
  });

  it('counts as running until it settles, or for a minute', async () => {
    const answers: ((used: number) => void)[] = [];
    const { use, loads } = fleet({ load: () => new Promise((resolve) => answers.push(resolve)) });
    const useMany = async (from: number, seconds: number) => {
      for (let at = from; at < from + seconds; at += 1) {
        await use(`key ${at}`);
        await vi.advanceTimersByTimeAsync(1_000);
      }
    };
    await useMany(0, 50);
    expect(loads).toHaveLength(8);
    for (const answer of answers.slice(0, 3)) answer(5);
    await useMany(50, 5);
    expect(loads).toHaveLength(11);
    await useMany(100, 60);
    expect(loads).toHaveLength(11 + 8);
  });

  it('leaves the keys that have been loaded to be checked', async () => {
    const hanging = new Promise<number>(() => undefined);
    const loaded = Array.from({ length: 20 }, (_, at) => `old ${at}`);
    const { use, loads, onCall } = fleet({ load: (key) => (key.startsWith('old') ? 0 : hanging) });
    for (const key of loaded) await use(key);
    for (let at = 0; at < 8; at += 1) await use(`key ${at}`);
    expect(loads).toHaveLength(28);
    await vi.advanceTimersByTimeAsync(10_000);
    let calls = 0;
    onCall(() => {
      calls += 1;
    });
    for (const key of loaded) await use(key);
    expect(calls).toBe(40);
    for (let at = 0; at < 20; at += 1) await use(`new ${at}`);
    expect(calls).toBe(60);
    expect(loads).toHaveLength(28);
  });

  it('is taken over when its process is killed', async () => {
    let first = true;
    const { use, loads, usedOf } = fleet({
      processes: 2,
      load: () => {
        if (!first) return 9;
        first = false;
        return new Promise(() => undefined);
      },
    });
    await use('ada', 4);
    expect(loads).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(10_000);
    await use('ada', 2);
    expect(loads).toHaveLength(2);
    expect(await usedOf('ada')).toBeGreaterThanOrEqual(9);
  });

  it('is no fault if a process rejects the key from its cache', async () => {
    const { use, lose, faults, usedOf, limiters } = fleet({ load: () => 10, processes: 2 });
    await use('ada', 2);
    await limiters[0]?.consume('ada'); // rejected by the store, and cached
    lose();
    await vi.advanceTimersByTimeAsync(10_001);
    expect((await limiters[0]?.consume('ada'))?.outcome).toBe('denied');
    await vi.advanceTimersByTimeAsync(0);
    expect([await usedOf('ada'), faults]).toEqual([0, []]);
  });

  it.each(['lost', 'reset', 'over'])(
    'is no fault if the count is %s when it is read',
    async (how) => {
      const { use, lose, faults, limiters, usedOf, onCall } = fleet({ load: () => 8 });
      await vi.advanceTimersByTimeAsync(Date.UTC(2026, 1, 1) - Date.now() - 1);
      onCall(async ([step]) => {
        if (step?.op !== 'look') return;
        onCall(() => undefined);
        if (how === 'lost') lose();
        if (how === 'reset') await limiters[0]?.reset('ada');
        if (how === 'over') await new Promise((done) => setTimeout(done, 1));
      });
      await use('ada');
      await vi.advanceTimersByTimeAsync(1);
      await use('ada');
      expect([await usedOf('ada'), faults]).toEqual([8, []]);
    },
  );

  it('is a fault for a limit without a calendar', async () => {
    const { use, faults, loads } = fleet({ options: { name: 'quota', limit: 5, window: '1h' } });
    await use('ada', 2);
    expect(faults).toEqual([]);
    await vi.advanceTimersByTimeAsync(10_000);
    await use('ada');
    expect(loads).toEqual([]);
    expect(String(faults[0]?.error)).toBe('Error: limiter "quota" has no count by calendar');
  });

  it('is rejected at construction if it is no function', () => {
    const store = memoryStore();
    const wrong =
      (loads: unknown, options: unknown = { store }) =>
      () =>
        restoreFrom(loads as Record<string, UsedUnits>, options as { store: typeof store });
    expect(wrong({ quota: 5 })).toThrow('loads must be an object of functions, got 5');
    expect(wrong([])).toThrow('loads must be an object of functions');
    expect(wrong({}, { store, more: 1 })).toThrow('restoreFrom() has no option "more"');
    expect(wrong({}, {})).toThrow('store');
    expect(wrong({}, { store, onFault: 5 })).toThrow('onFault must be a function, got 5');
    expect(wrong({}, { store, logger: {} })).toThrow('logger must be an object with warn()');
  });
});

describe('a call that the store never answers', () => {
  fakeTime();

  /** A store that never answers the calls in which `hangs` returns true for a step. */
  function halfOpen(hangs: (step: Step) => boolean) {
    const memory = memoryStore({ clock: systemClock });
    let isHealthy = false;
    const store = remoteStore({
      sync: false,
      apply: async (steps) =>
        isHealthy || !steps.some(hangs) ? memory.apply(steps) : new Promise(() => undefined),
    });
    const heal = (): void => {
      isHealthy = true;
    };
    const faults: Fault[] = [];
    const onFault = (fault: Fault) => faults.push(fault);
    const restoring = restoreFrom({ quota: () => 9 }, { store, onFault });
    const limiter = createLimiter({ ...QUOTA, limit: 100 }, { store, observers: [restoring] });
    const use = async (key: string) => {
      await limiter.consume(key);
      await vi.advanceTimersByTimeAsync(0);
    };
    const usedOf = async (key: string) => (await limiter.peek(key)).used;
    return { use, usedOf, heal, faults };
  }

  it.each<[string, (step: Step) => boolean]>([
    ['look', ({ limiter, op }) => limiter === 'quota.restored' && op === 'look'],
    ['claim', ({ limiter, op }) => limiter === 'quota.restored' && op === 'take'],
    ['raise', ({ limiter, op, cost }) => limiter === 'quota' && op === 'take' && cost > 1],
    ['mark', ({ limiter, op }) => limiter === 'quota.restored' && op === 'done'],
  ])('is a fault, and the key is loaded again: the %s', async (_, hangs) => {
    const { use, usedOf, heal, faults } = halfOpen(hangs);
    const keys = Array.from({ length: 8 }, (_, at) => `key ${at}`);
    for (const key of keys) await use(key);
    await vi.advanceTimersByTimeAsync(10_100);
    expect(faults).toHaveLength(8);
    expect(String(faults[0]?.error)).toMatch(/no answer within 10000 ms/);
    heal();
    for (const key of [...keys, 'new']) {
      await use(key);
      expect(await usedOf(key)).toBeGreaterThanOrEqual(9);
    }
    expect(faults).toHaveLength(8);
  });

  it('leaves room for other keys', async () => {
    const { use, usedOf, heal, faults } = halfOpen(({ op }) => op === 'look');
    for (let at = 0; at < 150; at += 1) await use(`key ${at}`);
    heal();
    await vi.advanceTimersByTimeAsync(10_100);
    expect(faults).toHaveLength(100);
    await use('ada');
    expect(await usedOf('ada')).toBe(9);
  });
});

describe('a quota by billing period', () => {
  fakeTime();

  function billed() {
    const loads: string[] = [];
    const store = memoryStore({ clock: systemClock });
    const restoring = restoreFrom(
      {
        quota: (_key, { start }) => {
          loads.push(start.toISOString());
          return 3;
        },
      },
      { store },
    );
    const limiter = createLimiter(
      { ...QUOTA, window: calendar(() => undefined as never) },
      { store, observers: [restoring], logger: false },
    );
    const use = async (period?: BillingPeriod): Promise<number> => {
      await limiter.consume('ada', { period });
      await vi.advanceTimersByTimeAsync(0);
      return (await limiter.peek('ada', { period })).used;
    };
    return { loads, use };
  }

  const begin = Date.UTC(2026, 0, 1);
  const DAY = 86_400_000;

  it('is loaded in a period that begins before the end of the last one', async () => {
    const { loads, use } = billed();
    await use({ id: 'a', start: begin - DAY, end: begin + 20 * DAY });
    await vi.advanceTimersByTimeAsync(DAY);
    expect(await use({ id: 'b', start: begin + DAY, end: begin + 31 * DAY })).toBe(3);
    expect(loads).toEqual(['2025-12-31T00:00:00.000Z', '2026-01-02T00:00:00.000Z']);
  });

  it('is not loaded while its period is unknown', async () => {
    const { loads, use } = billed();
    expect(await use()).toBe(1);
    expect(await use()).toBe(2);
    expect(loads).toEqual([]);
    const period = { id: 'a', start: begin - DAY, end: begin + 20 * DAY };
    expect(await use(period)).toBe(3);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await use(period)).toBe(4);
    expect(loads).toEqual(['2025-12-31T00:00:00.000Z']);
  });
});

describe('two loads of one key', () => {
  fakeTime();

  /** Two processes whose loads take a while. What the first raises reaches the store late. */
  function two(loadMs: number, raiseMs: number) {
    let memory = memoryStore({ clock: systemClock });
    const faults: Fault[] = [];
    const wait = (ms: number) => new Promise((done) => setTimeout(done, ms));
    const make = (isLate: boolean) => {
      const store = remoteStore({
        sync: false,
        async apply(steps, { deadlineUs = Infinity } = {}) {
          if (
            steps.some(({ limiter, op, cost }) => limiter === 'quota' && op === 'take' && cost > 1)
          ) {
            await wait(isLate ? raiseMs : 0);
            if (systemClock.nowUs() > deadlineUs) throw new Error('too late');
          }
          return memory.apply(steps);
        },
      });
      const onFault = (fault: Fault) => faults.push(fault);
      const load = () => wait(loadMs).then(() => 5);
      const observers = [restoreFrom({ quota: load }, { store, onFault })];
      return createLimiter(QUOTA, { store, observers, logger: false });
    };
    const lose = (): void => {
      memory = memoryStore({ clock: systemClock });
    };
    return { slow: make(true), fast: make(false), faults, lose };
  }

  it('add nothing if the store gets the units after the lease of the first', async () => {
    const { slow, fast, faults } = two(0, 11_000);
    await slow.consume('ada');
    await vi.advanceTimersByTimeAsync(10_500);
    await fast.consume('ada');
    await vi.advanceTimersByTimeAsync(60_000);
    expect((await fast.peek('ada')).used).toBe(5);
    expect(faults).toHaveLength(1);
  });

  it('add nothing if the store loses its data while the first runs', async () => {
    const { slow, fast, faults, lose } = two(1_000, 700);
    await slow.consume('ada');
    await vi.advanceTimersByTimeAsync(500);
    lose();
    await fast.consume('ada');
    await vi.advanceTimersByTimeAsync(60_000);
    expect((await fast.peek('ada')).used).toBe(5);
    expect(faults).toEqual([]);
  });
});

describe('a raise of a count', () => {
  fakeTime();

  /** The units used after a load of 80, and the number of raises. `before` is called before each. */
  async function raised(
    before: (others: KeyedLimiter<SyncStore>, raise: () => unknown) => unknown,
  ) {
    const memory = memoryStore({ clock: systemClock });
    const options = { ...QUOTA, limit: 1_000 };
    const others = createLimiter(options, { store: memory });
    let raises = 0;
    const store = remoteStore({
      sync: false,
      apply: async (steps) => {
        const apply = () => memory.apply(steps);
        if (steps.some(({ limiter, cost }) => limiter === 'quota' && cost > 1)) {
          raises += 1;
          await before(others, apply);
        }
        return apply();
      },
    });
    const observers = [restoreFrom({ quota: () => 80 }, { store })];
    await createLimiter(options, { store, observers }).consume('ada');
    await vi.advanceTimersByTimeAsync(0);
    return [(await others.peek('ada')).used, raises];
  }

  it('applies once if the client loses the reply and sends it again', async () => {
    expect(await raised((_, raise) => raise())).toEqual([80, 1]);
  });

  it('is calculated anew if most of the units were used meanwhile', async () => {
    let left = [60, 10];
    const use = (others: KeyedLimiter<SyncStore>) => {
      const [cost = 0, ...rest] = left;
      left = rest;
      return cost > 0 && others.consume('ada', { cost });
    };
    expect(await raised(use)).toEqual([80, 3]);
  });
});
