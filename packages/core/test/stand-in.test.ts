/**
 * The fallback counters: who is rejected, and who is not, while the store does not answer and nothing was configured
 * for it.
 */

import {
  type Answer,
  type Clock,
  concurrencyLimit,
  createGuard,
  createLimiter,
  fixedWindow,
  memoryControl,
  memoryStore,
  type RuleOptions,
  rateLimit,
  type Step,
  type SyncStore,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';

type By = Pick<RuleOptions, 'algorithm' | 'anchor'>;

const ALGORITHMS: readonly By[] = [
  { algorithm: tokenBucket },
  { algorithm: fixedWindow },
  { algorithm: fixedWindow, anchor: 'first-request' },
  { algorithm: slidingWindow },
  { algorithm: slidingLog },
];

/** A store of a fleet: other processes may use `shared` too. It can be down, or lose its replies. */
function setUp(by: By = {}, limit = 3, clock?: Clock) {
  const shared = memoryStore(clock ? { clock } : {});
  const store = remoteStore({
    sync: false as const,
    down: false,
    losesReplies: false,
    async apply(steps: readonly Step[]): Promise<readonly Answer[]> {
      if (this.down) throw new Error('down');
      const answers = shared.apply(steps);
      if (this.losesReplies) throw new Error('lost');
      return answers;
    },
  });
  const options = { name: 'api', limit, window: '400d' as const, ...by };
  const limiter = createLimiter(options, { store, breaker: false, logger: false });
  const elsewhere = createLimiter(options, { store: shared });
  const passes = async (key = 'ada') => (await limiter.consume(key)).allowed;
  const count = async (tries: number, key?: string) => {
    let passed = 0;
    for (let i = 0; i < tries; i += 1) if (await passes(key)) passed += 1;
    return passed;
  };
  return { store, limiter, elsewhere, passes, count };
}

describe.each(ALGORITHMS)('without an option, an outage under a limit by %o', (by) => {
  it('refuses who used the whole limit through this process, and nobody else', async () => {
    const { store, elsewhere, count } = setUp(by);
    expect(await count(5)).toBe(3);
    elsewhere.record('eve', { cost: 3 });
    store.down = true;
    expect(await count(5)).toBe(0);
    expect(await count(5, 'eve')).toBe(3);
  });

  it('counts together what was admitted before it and during it', async () => {
    const { store, count } = setUp(by);
    expect(await count(2)).toBe(2);
    store.down = true;
    expect(await count(5)).toBe(1);
  });

  it('does not count what was given back before it', async () => {
    const { store, limiter, count } = setUp(by);
    for (let i = 0; i < 20; i += 1) {
      expect(await limiter.refund(await limiter.consume('ada'))).toBe(true);
    }
    store.down = true;
    expect(await count(5)).toBe(3);
  });

  it('gives back what is refunded during it, and the store is never given what it did not charge', async () => {
    const { store, limiter, elsewhere, count } = setUp(by);
    elsewhere.record('ada', { cost: 2 });
    store.down = true;
    const granted = [];
    for (let i = 0; i < 3; i += 1) granted.push(await limiter.consume('ada'));
    expect(await count(2)).toBe(0);
    expect(await limiter.refund(granted[0] as never)).toBe(true);
    expect(await count(2)).toBe(1);
    store.down = false;
    for (const decision of granted.slice(1)) expect(await limiter.refund(decision)).toBe(false);
    expect(elsewhere.peek('ada').remaining).toBe(1);
  });

  it('does not count what a limit beside it refused', async () => {
    const { store } = setUp(by);
    const name = (own: string) => ({ name: own, limit: 3, window: '400d' as const, ...by });
    const closed = rateLimit({ ...name('closed'), cost: () => 4 });
    const both = createGuard([rateLimit(name('open')), closed], { store, logger: false });
    for (let i = 0; i < 5; i += 1) expect((await both.admit(request())).allowed).toBe(false);
    store.down = true;
    const alone = createGuard(rateLimit(name('open')), { store, breaker: false, logger: false });
    for (let i = 0; i < 3; i += 1) expect((await alone.admit(request())).allowed).toBe(true);
  });

  it('forgets a key that is reset, before it and during it', async () => {
    const { store, limiter, count } = setUp(by);
    await count(3);
    await limiter.reset('ada');
    store.down = true;
    expect(await count(5)).toBe(3);
    await limiter.reset('ada');
    expect(await count(5)).toBe(3);
  });
});

describe('what the stand-in cannot know', () => {
  it('a grant whose reply was lost: counted by the store, not here', async () => {
    const { store, elsewhere, passes, count } = setUp({ algorithm: fixedWindow });
    store.losesReplies = true;
    expect(await passes()).toBe(true); // the fallback counters count their own answer
    store.losesReplies = false;
    expect(elsewhere.peek('ada').remaining).toBe(2);
    store.down = true;
    expect(await count(5)).toBe(2);
  });

  it("the store's clock: at a window's edge it goes by its own", async () => {
    const clock = new ManualClock();
    const { store, count } = setUp({ algorithm: fixedWindow }, 3, clock);
    expect(await count(3)).toBe(3);
    clock.advance('400d'); // by the clock of the store the window has ended
    expect(await count(2)).toBe(2);
    store.down = true;
    expect(await count(5)).toBe(0);
  });

  it('a reset by another process: the key stays refused here until its count is over', async () => {
    const { store, elsewhere, count } = setUp({ algorithm: fixedWindow });
    await count(3);
    elsewhere.reset('ada');
    store.down = true;
    expect(await count(3)).toBe(0);
  });
});

describe.each(ALGORITHMS)('a stand-in that is full, under a limit by %o', (by) => {
  it('refuses whom it has counted, and nobody else', async () => {
    const { store, count, limiter } = setUp(by, 1);
    const many = 100_000;
    const keys = Array.from({ length: many }, (_, i) => `k${i}`);
    for (let i = 0; i < many; i += 1_000) await limiter.record(keys.slice(i, i + 1_000));
    store.down = true;
    expect(await count(2, 'k0')).toBe(0);
    expect(await count(2, `k${many - 1}`)).toBe(0);
    expect(await count(5, 'new')).toBe(5);
    // A request that could not be counted for lack of room is not refunded, because that would reduce the counted
    // units.
    expect(await limiter.refund(await limiter.consume('new'))).toBe(false);
    await limiter.reset('k0');
    expect(await count(2, 'k0')).toBe(1);
  });

  it('gives back nothing that it had no room to count, also once there is room', async () => {
    const { store, count, limiter } = setUp(by, 1);
    for (let i = 0; i < 100; i += 1) {
      await limiter.record(Array.from({ length: 1_000 }, (_, k) => `k${i * 1_000 + k}`));
    }
    store.down = true;
    const uncounted = await limiter.consume('new');
    // A bucket keeps its slot until it is looked at. Many are reset, so one of them is looked at soon.
    for (let i = 0; i < 10_000; i += 1) await limiter.reset(`k${i}`);
    for (let i = 0; i < 2_000; i += 1) await limiter.peek(`other ${i}`);
    expect(await count(2, 'new')).toBe(1);
    expect(await limiter.refund(uncounted)).toBe(false);
    expect(await count(1, 'new')).toBe(0);
  });
});

describe('a reset through the control', () => {
  it('reaches the stand-in once, and only the key that was reset', async () => {
    const { store } = setUp();
    const control = memoryControl();
    const limit = rateLimit({ name: 'own', limit: 2, window: '400d', key: ({ path }) => path });
    const guard = createGuard(limit, { store, control, breaker: false, logger: false });
    const passes = async (path: string) => (await guard.admit(request({ path }))).allowed;
    for (const path of ['ada', 'ada', 'bob', 'bob']) expect(await passes(path)).toBe(true);
    store.down = true;
    const note = { by: 'ada', because: 'a test' };
    control.forget('own', 'ada', note);
    expect([await passes('ada'), await passes('bob')]).toEqual([true, false]);
    expect([await passes('ada'), await passes('ada')]).toEqual([true, false]);
    control.forget('own', 'eve', note); // announces all resets of the last minute again
    expect(await passes('ada')).toBe(false);
  });
});

it('a group that no store can decide is answered all the same', async () => {
  const { store } = setUp();
  const own = (limit: number) => {
    const limiter = rateLimit({ name: `l${limit}`, limit, window: '1m' });
    const step: typeof limiter.step = (...given) => ({ ...limiter.step(...given), limiter: 'one' });
    return {
      ...limiter,
      name: limiter.name,
      kind: limiter.kind,
      rule: limiter.rule,
      step,
      decide: limiter.decide.bind(limiter),
    };
  };
  const guard = createGuard([own(2), own(3)], { store, breaker: false, logger: false });
  expect((await guard.admit(request())).allowed).toBe(true);
});

describe('a limit on requests in progress', () => {
  it('counts those of this process, and forgets those that ended', async () => {
    const { store } = setUp();
    const limit = concurrencyLimit({ name: 'in-flight', limit: 2 });
    const guard = createGuard(limit, { store, breaker: false, logger: false });
    const first = await guard.admit(request());
    store.down = true;
    const second = await guard.admit(request());
    expect([first.allowed, second.allowed]).toEqual([true, true]);
    expect((await guard.admit(request())).status).toBe(429);
    await first.release({});
    expect((await guard.admit(request())).allowed).toBe(true);
  });
});

it('a login limit that gives back what succeeds does so during an outage too', async () => {
  const { store } = setUp();
  store.down = true;
  const logins = rateLimit({
    name: 'logins',
    limit: 2,
    window: '400d',
    refundIf: (_, { status = 500 }) => status < 400,
  });
  const guard = createGuard(logins, { store, breaker: false, logger: false });
  for (let i = 0; i < 10; i += 1) {
    const admission = await guard.admit(request());
    expect(admission.allowed).toBe(true);
    await admission.release({ status: 200 });
  }
  const failed = [];
  for (let i = 0; i < 4; i += 1) {
    const admission = await guard.admit(request());
    failed.push(admission.allowed);
    await admission.release({ status: 401 });
  }
  expect(failed).toEqual([true, true, false, false]);
});

it('a store that answers at once is not counted twice', () => {
  let asked = 0;
  const memory = memoryStore();
  const store: SyncStore = remoteStore({
    sync: true,
    apply(steps) {
      asked += 1;
      if (asked > 2) throw new Error('broken');
      return memory.apply(steps);
    },
  });
  const limiter = createLimiter({ name: 'api', limit: 2, window: '400d' }, { store });
  const said = [1, 2, 3, 4, 5].map(() => limiter.consume('ada').allowed);
  expect(said).toEqual([true, true, true, true, false]);
});

describe('a store that comes and goes', () => {
  // The bound of docs/operations.md, "When Redis is down".
  it('admits at most rate x outage more for each outage, and no more than the burst', async () => {
    for (const [outageMs, limit] of [
      [700, 20],
      [3_000, 20],
    ] as const) {
      const clock = new ManualClock();
      const shared = memoryStore({ clock });
      let isDown = false;
      const store = remoteStore({
        sync: false as const,
        testClock: clock,
        async apply(steps: readonly Step[]): Promise<readonly Answer[]> {
          if (isDown) throw new Error('down');
          return shared.apply(steps);
        },
      });
      const limiter = createLimiter(
        { name: 'api', limit, window: '1s' },
        { store, clock, breaker: false, logger: false },
      );
      const outages = 10;
      let admitted = 0;
      for (let phase = 0; phase < 2 * outages; phase += 1) {
        isDown = phase % 2 === 1; // the burst is used up before the first outage
        for (let ms = 0; ms < outageMs; ms += 10) {
          while ((await limiter.consume('ada')).allowed) admitted += 1;
          clock.advance('10ms');
        }
      }
      const exact = limit + (limit * 2 * outages * outageMs) / 1_000;
      const bound = Math.min(limit, (limit * outageMs) / 1_000);
      expect(admitted - exact).toBeLessThanOrEqual(outages * bound);
      expect(admitted - exact).toBeGreaterThan(0.8 * outages * bound);
    }
  });
});
