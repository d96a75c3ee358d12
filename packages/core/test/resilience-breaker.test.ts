import {
  type Answer,
  type BreakerEvent,
  createGuard,
  createLimiter,
  type GuardOptions,
  memoryStore,
  rateLimit,
  SpillwayError,
  type Step,
  type Store,
  type StoreCallEvent,
  withFallback,
} from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { breakerOf, withBreaker } from '../src/resilience/breaker.js';
import { request } from './guard-set-up.js';

/** A store that answers later, or fails with `error`, or leaves open what it is asked. */
class Patient implements Store {
  readonly sync = false;
  readonly memory = memoryStore();
  readonly asked: Step[] = [];
  error: Error | undefined;
  readonly open: (() => void)[] = [];
  silent = false;

  apply(steps: readonly Step[]): Promise<readonly Answer[]> {
    this.asked.push(...steps);
    const { error } = this;
    const answer = async () => {
      if (error) throw error;
      return this.memory.apply(steps);
    };
    if (!this.silent) return answer();
    return new Promise((resolve, reject) => {
      this.open.push(() => answer().then(resolve, reject));
    });
  }

  /** What was asked for callers, beside the breaker's own question. */
  get calls(): number {
    return this.asked.filter(({ limiter }) => limiter !== 'spillway').length;
  }

  get probes(): number {
    return this.asked.length - this.calls;
  }
}

const lost = new Error('connection lost');
const SETTINGS = { failures: 3, probeUs: 100_000 };

function setUp(options: GuardOptions = {}) {
  const clock = new ManualClock();
  const store = new Patient();
  // The first to ask for it chooses: here, whose time it goes by.
  breakerOf(store, SETTINGS, clock);
  const warnings: string[] = [];
  const logger = { warn: (line: string) => warnings.push(line) };
  const make = (name: string, own: GuardOptions = {}) =>
    createGuard(rateLimit({ name, limit: 1_000, window: '1m' }), {
      store,
      logger,
      ...options,
      ...own,
    });
  const guard = make('a');
  const ask = async (of = guard) => (await of.admit(request())).decisions[0]?.outcome;
  const fail = async (times: number, error: Error = lost) => {
    store.error = error;
    for (let i = 0; i < times; i += 1) expect(await ask()).toBe('error');
  };
  return { clock, store, warnings, make, ask, fail };
}

/** Lets what is in the background, and needs no time, come to its end. */
const background = () => new Promise((resolve) => setImmediate(resolve));

describe('a breaker', () => {
  it('opens after so many failed calls in a row, and then asks nothing', async () => {
    const { store, fail } = setUp();
    await fail(3);
    expect(store.calls).toBe(3);
    await fail(50);
    expect(store.calls).toBe(3);
  });

  it('does not open for failures with an answer between them', async () => {
    const { store, ask, fail } = setUp();
    for (let i = 0; i < 5; i += 1) {
      await fail(2);
      store.error = undefined;
      expect(await ask()).toBe('allowed');
    }
    expect(store.calls).toBe(15);
  });

  it('does not open for errors that a store answers about one call', async () => {
    const { store, warnings, fail } = setUp();
    await fail(50, new SpillwayError('SPW_STORE_ERROR', 'not of our format'));
    expect(store.calls).toBe(50);
    expect(warnings).toEqual([]);
  });

  it('opens for errors that a store answers to everybody', async () => {
    const { store, fail } = setUp();
    await fail(50, new SpillwayError('SPW_STORE_UNAVAILABLE', 'loading', { kind: 'loading' }));
    expect(store.calls).toBe(3);
  });

  it('opens for a store that throws', async () => {
    const { store, ask } = setUp();
    const apply = vi.spyOn(store, 'apply').mockImplementation(() => {
      throw lost;
    });
    for (let i = 0; i < 50; i += 1) expect(await ask()).toBe('error');
    expect(apply).toHaveBeenCalledTimes(3);
  });

  it('asks in the background whether the store is back, one question at a time, and delays no request by it', async () => {
    const { clock, store, fail, ask } = setUp();
    await fail(3);
    clock.advance(99);
    await fail(5);
    expect(store.probes).toBe(0);
    clock.advance(1);
    store.silent = true;
    expect(await ask()).toBe('error'); // answered, though the store says nothing
    await background();
    clock.advance('4s');
    expect(await ask()).toBe('error');
    await background();
    expect(store.probes).toBe(1);
    for (const end of store.open) end();
    await background();
    expect(await ask()).toBe('error');
    await background();
    expect(store.probes).toBe(2);
    expect(store.calls).toBe(3);
  });

  it('asks by itself for ten seconds after the last request, and no longer', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { clock, store, fail } = setUp();
    const pass = async (seconds: number) => {
      for (let ms = 0; ms < seconds * 1000; ms += 10) {
        clock.advance(10);
        await vi.advanceTimersByTimeAsync(10);
      }
    };
    await fail(3);
    await pass(1);
    expect(store.probes).toBe(9);
    await pass(12);
    const { probes } = store;
    expect(probes).toBeGreaterThan(80);
    await pass(60);
    expect(store.probes).toBe(probes);
    expect(vi.getTimerCount()).toBe(0);
    await fail(1);
    await pass(1);
    expect(store.probes).toBeGreaterThan(probes + 5);
  });

  it('gives up a question that is lost, as with the request that made it', async () => {
    const { clock, store, fail, ask } = setUp({ storeTimeout: '60s' });
    await fail(3);
    clock.advance(100);
    store.silent = true;
    await ask();
    await background();
    store.silent = false;
    store.error = undefined;
    clock.advance('5s');
    await ask();
    await background();
    expect(await ask()).toBe('allowed');
  });

  it('closes at the first question that is answered', async () => {
    const { clock, store, fail, ask } = setUp();
    await fail(3);
    store.error = undefined;
    clock.advance(100);
    expect(await ask()).toBe('error'); // this one set off the question
    await background();
    expect(await ask()).toBe('allowed');
    await fail(2);
    expect(store.calls).toBe(6); // and begins to count anew
  });

  it('asks a question that writes, about the key that failed: a store that can only read is not back', async () => {
    const { clock, store, fail, ask } = setUp();
    await fail(3);
    clock.advance(100);
    await ask();
    await background();
    const key = '@203.0.113.7'; // in a cluster, whoever failed has it
    expect(store.asked.at(-1)).toMatchObject({ op: 'take', limiter: 'spillway', key });
  });

  it('is not opened again by what was asked before it closed', async () => {
    const { clock, store, fail, ask } = setUp({ storeTimeout: '60s' });
    store.silent = true;
    store.error = lost;
    const old = Array.from({ length: 10 }, () => ask());
    await background();
    store.silent = false;
    await fail(3);
    store.error = undefined;
    clock.advance(100);
    await ask();
    await background();
    expect(await ask()).toBe('allowed');
    for (const end of store.open) end();
    expect(await Promise.all(old)).toEqual(Array(10).fill('error'));
    expect(await ask()).toBe('allowed');
  });

  it('is one for all guards and limiters of a store', async () => {
    const { store, make, ask, fail } = setUp();
    const other = make('b');
    const direct = createLimiter({ name: 'c', limit: 5, window: '1m' }, { store, logger: false });
    await fail(3);
    expect(await ask(other)).toBe('error');
    expect((await direct.consume('ada')).outcome).toBe('error');
    expect(store.calls).toBe(3);
  });

  it('is opened by direct calls too', async () => {
    const { store, ask } = setUp();
    store.error = lost;
    const direct = createLimiter({ name: 'c', limit: 5, window: '1m' }, { store, logger: false });
    for (const key of ['ada', 'bob', 'eve']) await direct.consume(key);
    expect(await ask()).toBe('error');
    expect(store.calls).toBe(3);
  });

  it('can be left out', async () => {
    const { store, fail } = setUp({ breaker: false });
    await fail(50);
    expect(store.calls).toBe(50);
  });

  it.each([{ failures: 0 }, { failures: 1.5 }, { probeEvery: 'soon' as '1s' }])(
    'refuses %j at construction',
    (breaker) => {
      const limiter = rateLimit({ name: 'a', limit: 1, window: '1m' });
      expect(() => createGuard(limiter, { store: new Patient(), breaker })).toThrow(/SPW_/);
    },
  );
});

describe('an outage', () => {
  async function outage({ clock, store, fail, ask }: ReturnType<typeof setUp>, ms = 1_500) {
    await fail(20);
    clock.advance(ms);
    store.error = undefined;
    await ask();
    await background();
    expect(await ask()).toBe('allowed');
  }

  it('is told in one line when it begins and one when it ends, however many guards and limiters there are', async () => {
    const all = setUp();
    const { store, warnings, make, ask } = all;
    const others = ['b', 'c', 'd'].map((name) => make(name));
    createLimiter({ name: 'e', limit: 1, window: '1m' }, { store, logger: false });
    for (let i = 0; i < 2; i += 1) {
      await outage(all);
      for (const other of others) expect(await ask(other)).toBe('allowed');
    }
    const lines = [
      'Spillway: the store does not decide (connection lost). Until it does, onStoreError decides.',
      'Spillway: the store decides again, after 1.5 s.',
    ];
    expect(warnings).toEqual([...lines, ...lines]);
  });

  it('is not told to anybody with logger false', async () => {
    const console = vi.spyOn(globalThis.console, 'warn').mockImplementation(() => undefined);
    const all = setUp({ logger: false });
    await outage(all);
    expect(console).not.toHaveBeenCalled();
    console.mockRestore();
  });

  it('is told to the console by default', async () => {
    const console = vi.spyOn(globalThis.console, 'warn').mockImplementation(() => undefined);
    const { store } = setUp();
    const limiter = createLimiter({ name: 'c', limit: 5, window: '1m' }, { store });
    store.error = lost;
    for (let i = 0; i < 20; i += 1) await limiter.consume('ada');
    expect(console).toHaveBeenCalledOnce();
    console.mockRestore();
  });

  it('is told to observers: each call, and when the breaker opens and closes', async () => {
    const calls: StoreCallEvent[] = [];
    const changes: BreakerEvent[] = [];
    const observer = {
      onStoreCall: (event: StoreCallEvent) => calls.push(event),
      onBreaker: (event: BreakerEvent) => changes.push(event),
    };
    await outage(setUp({ observers: [observer] }));
    // Three that failed, the question in the background, the call of the last request.
    expect(calls.map(({ outcome }) => outcome)).toEqual(['other', 'other', 'other', 'ok', 'ok']);
    expect(changes).toEqual([
      { state: 'open', openMs: 0, error: lost },
      { state: 'closed', openMs: 1_500 },
    ]);
  });

  it('is survived by a logger and observers that throw', async () => {
    const oops = () => {
      throw new Error('oops');
    };
    const faults: unknown[] = [];
    await outage(
      setUp({
        logger: { warn: oops },
        observers: [{ onBreaker: oops, onStoreCall: oops }],
        onFault: ({ source, error }) => {
          if (source === 'observer') faults.push(error);
        },
      }),
    );
    expect(faults).toHaveLength(7);
  });
});

describe('three processes that count by themselves while the breaker is open, each with a third of the limit', () => {
  const WINDOW_MS = 60_000;

  function fleet() {
    const clock = new ManualClock();
    const shared = memoryStore({ clock });
    const limiter = rateLimit({
      name: 'a',
      limit: 30,
      window: '1m',
      onStoreError: 'local',
      localShare: 1 / 3,
    });
    const processes = [1, 2, 3].map(() => {
      const store = {
        sync: false,
        down: false,
        async apply(steps: readonly Step[]): Promise<readonly Answer[]> {
          if (this.down) throw lost;
          return shared.apply(steps);
        },
      };
      const local = memoryStore({ clock });
      const guarded = withFallback(withBreaker(store, breakerOf(store, SETTINGS, clock)), local);
      const context = { onStoreError: 'allow' as const, fault: () => undefined };
      const ask = async () => {
        const step = limiter.step(request(), true, context);
        const answers = await guarded.apply([step]);
        return answers[0]?.allowed === true;
      };
      return { store, ask };
    });
    const [first] = processes;
    const fail = () => {
      for (const { store } of processes) store.down = true;
    };
    /** Everybody asks as often as they can. */
    const flood = async (): Promise<number> => {
      let passed = 0;
      for (const { ask } of processes) while (await ask()) passed += 1;
      return passed;
    };
    return { clock, ask: first?.ask ?? expect.unreachable, fail, flood };
  }

  it('admit together, after what each lets pass at once, exactly the rate of the limit', async () => {
    const { clock, fail, flood } = fleet();
    fail();
    expect(await flood()).toBe(3 * 30);
    let passed = 0;
    for (let at = 0; at < 10 * WINDOW_MS; at += 1_000) {
      clock.advance(1_000);
      passed += await flood();
    }
    expect(passed).toBe(10 * 30);
  });

  it('know what they have admitted before the outage', async () => {
    const { ask, fail } = fleet();
    for (let i = 0; i < 30; i += 1) expect(await ask()).toBe(true);
    fail();
    for (let i = 0; i < 10; i += 1) expect(await ask()).toBe(false);
  });
});
