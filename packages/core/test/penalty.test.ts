/** Limits with a penalty: what starts a lock, what ends it, and what has no effect on it. */

import {
  type Answer,
  calendar,
  createGuard,
  createLimiter,
  createLimiters,
  fixedWindow,
  type KeyedLimiterOptions,
  type LimiterOptions,
  lockFor,
  memoryControl,
  memoryStore,
  type RateLimitOptions,
  rateLimit,
  type Step,
  type SyncStore,
  slidingLog,
  tokenBucket,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOTE = { because: 'a test', by: 'ada' };

const LOGINS = {
  name: 'logins',
  limit: 3,
  window: '10m',
  penalty: lockFor(['15m', '1h', '1d'], { forget: '2d' }),
} satisfies LimiterOptions;

function setUp(
  options: Partial<LimiterOptions> = {},
  settings: KeyedLimiterOptions<SyncStore> = {},
) {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  const limiter = createLimiter({ ...LOGINS, ...options }, { store, ...settings });
  const consume = (times: number, key = 'ada') => {
    let last = limiter.consume(key);
    for (let i = 1; i < times; i += 1) last = limiter.consume(key);
    return last;
  };
  return { clock, store, limiter, consume };
}

describe('a lock', () => {
  it('starts with the first rejection, and rejects until its end', () => {
    const { clock, limiter, consume } = setUp();
    expect(consume(3)).toMatchObject({
      allowed: true,
      used: 3,
      remaining: 0,
      resetMs: 10 * MINUTE,
    });
    expect(consume(1)).toMatchObject({
      allowed: false,
      reason: 'rate',
      retryAfterMs: 15 * MINUTE,
      resetMs: 15 * MINUTE,
    });
    clock.advance(15 * MINUTE - 0.001);
    expect(consume(1)).toMatchObject({ allowed: false, retryAfterMs: 0.001 });
    clock.advance(0.001);
    expect(limiter.consume('ada')).toMatchObject({ allowed: true, used: 1, remaining: 2 });
    expect(limiter.consume('bob')).toMatchObject({ allowed: true, used: 1 });
  });

  it('is neither extended nor counted by attempts during it', () => {
    const { clock, limiter, consume } = setUp();
    consume(4);
    for (let minute = 1; minute < 15; minute += 1) {
      clock.advance(MINUTE);
      expect(consume(50).retryAfterMs).toBe((15 - minute) * MINUTE);
      limiter.record('ada');
    }
    clock.advance(MINUTE);
    expect(limiter.peek('ada')).toMatchObject({ used: 0, remaining: 3, retryAfterMs: 0 });
  });

  it('is longer each time, and the last duration repeats', () => {
    const { clock, consume } = setUp();
    const waits = Array.from({ length: 5 }, () => {
      const { retryAfterMs } = consume(4);
      clock.advance(retryAfterMs);
      return retryAfterMs;
    });
    expect(waits).toEqual([15 * MINUTE, HOUR, DAY, DAY, DAY]);
  });

  it('is the first again when none has run for `forget` since the end of the last', () => {
    const { clock, consume } = setUp();
    clock.advance(consume(4).retryAfterMs);
    clock.advance(2 * DAY - 0.001);
    expect(consume(4).retryAfterMs).toBe(HOUR);
    clock.advance(HOUR + 2 * DAY);
    expect(consume(4).retryAfterMs).toBe(15 * MINUTE);
  });

  it('goes on past the window, and may end before it', () => {
    const { clock, limiter, consume } = setUp({ window: '5m' });
    consume(4);
    clock.advance('6m');
    expect(limiter.consume('ada').retryAfterMs).toBe(9 * MINUTE);
    const other = setUp({ window: '1d' });
    other.consume(4);
    other.clock.advance('15m');
    expect(other.limiter.peek('ada')).toMatchObject({ used: 0, remaining: 3 });
  });

  it('is at most as long as it was at its start if the clock goes back', () => {
    const { clock, limiter, consume } = setUp();
    consume(4);
    clock.setUs(clock.nowUs() - (DAY / 2) * 1000);
    expect(consume(1).retryAfterMs).toBe(15 * MINUTE);
    clock.advance('15m');
    expect(consume(4).retryAfterMs).toBe(HOUR);
    clock.setUs(clock.nowUs() - (DAY / 2) * 1000);
    expect(limiter.peek('ada').retryAfterMs).toBe(HOUR);
  });

  it('is forgotten as soon as without a clock that has gone back after its end', () => {
    const { clock, consume } = setUp();
    clock.advance(consume(4).retryAfterMs);
    consume(1);
    clock.setUs(clock.nowUs() - DAY * 1000);
    consume(1);
    clock.advance(2 * DAY - 0.001);
    expect(consume(4).retryAfterMs).toBe(HOUR);
    const other = setUp();
    other.clock.advance(other.consume(4).retryAfterMs);
    other.consume(1);
    other.clock.setUs(other.clock.nowUs() - DAY * 1000);
    other.consume(1);
    other.clock.advance(2 * DAY);
    expect(other.consume(4).retryAfterMs).toBe(15 * MINUTE);
  });

  it('lets costs of 0 pass', () => {
    const { limiter, consume } = setUp();
    consume(4);
    expect(limiter.consume('ada', { cost: 0 }).allowed).toBe(true);
  });

  it('is ended by a reset, with its level', () => {
    const { clock, limiter, consume } = setUp();
    clock.advance(consume(4).retryAfterMs);
    consume(4);
    expect(limiter.reset('ada')).toBe(true);
    expect(limiter.peek('ada')).toMatchObject({ allowed: true, used: 0, remaining: 3 });
    expect(consume(4).retryAfterMs).toBe(15 * MINUTE);
  });
});

describe('no lock is started', () => {
  it('by peek, record, and costs that can never pass', () => {
    const { limiter, consume } = setUp();
    consume(3);
    limiter.record('ada', { cost: 5 });
    expect(limiter.peek('ada')).toMatchObject({ allowed: false, retryAfterMs: 10 * MINUTE });
    expect(limiter.consume('ada', { cost: 4 })).toMatchObject({ reason: 'never' });
    expect(limiter.peek('ada').retryAfterMs).toBe(10 * MINUTE);
  });

  it('in shadow mode, and for keys outside of the share', () => {
    for (const options of [{ mode: 'shadow' }, { share: 0 }] as const) {
      const { clock, limiter, consume } = setUp(options);
      expect(consume(9)).toMatchObject({ allowed: true, outcome: 'would-deny' });
      clock.advance('10m');
      expect(limiter.consume('ada')).toMatchObject({ outcome: 'allowed', used: 1 });
    }
  });

  it('by another limit that rejects the group, or by the group that it rejects', () => {
    const { clock, store } = setUp();
    const few = { limit: 1, window: '1h' } as const;
    const { name: _, ...logins } = LOGINS;
    const limits = createLimiters({ logins, few }, { store });
    const keys = { logins: 'ada', few: 'all' };
    limits.consume(keys);
    for (let i = 0; i < 9; i += 1) expect(limits.consume(keys).allowed).toBe(false);
    expect(limits.peek(keys).decisions.logins).toMatchObject({ allowed: true, used: 1 });
    clock.advance('1h');
    // Both reject. The limit locks because it has too few units itself.
    const full = { logins: 'bob', few: 'all' };
    limits.record({ logins: 'bob' }, { cost: 3 });
    limits.record({ few: 'all' });
    expect(limits.consume(full).decisions.logins.retryAfterMs).toBe(15 * MINUTE);
    expect(limits.peek(full).decisions.few.used).toBe(1);
  });
});

describe('a refund', () => {
  it('of an attempt that led to a lock ends the lock, takes its level back, and keeps other charges', () => {
    const { limiter, consume } = setUp();
    consume(2);
    const right = limiter.consume('ada');
    expect(consume(2).retryAfterMs).toBe(15 * MINUTE);
    expect(limiter.refund(right)).toBe(true);
    expect(limiter.peek('ada')).toMatchObject({ allowed: true, used: 2, remaining: 1 });
    consume(1);
    expect(consume(1).retryAfterMs).toBe(15 * MINUTE);
  });

  it('of all attempts leaves nobody locked and wins no further attempts', () => {
    const { limiter } = setUp({ limit: 5 });
    const logins = Array.from({ length: 5 }, () => limiter.consume('ada'));
    expect(limiter.consume('ada').allowed).toBe(false);
    const left = logins.map((login) => {
      limiter.refund(login);
      return limiter.peek('ada').remaining;
    });
    expect(left).toEqual([1, 2, 3, 4, 5]);
    expect(limiter.refund(logins[0] as (typeof logins)[0])).toBe(false);
    expect(limiter.peek('ada').remaining).toBe(5);
  });

  it('of an attempt before the last lock neither ends a later lock nor refunds', () => {
    const { clock, limiter, consume } = setUp();
    const late = limiter.consume('ada');
    clock.advance(consume(3).retryAfterMs);
    expect(limiter.consume('ada').used).toBe(1);
    expect(limiter.refund(late)).toBe(false);
    expect(limiter.peek('ada').used).toBe(1);
    consume(2);
    expect(consume(1).retryAfterMs).toBe(HOUR);
    expect(limiter.refund(late)).toBe(false);
    expect(limiter.peek('ada').retryAfterMs).toBe(HOUR);
  });

  it('takes back the level of its own lock only', () => {
    const { clock, limiter, consume } = setUp();
    clock.advance(consume(4).retryAfterMs);
    const right = limiter.consume('ada');
    expect(consume(3).retryAfterMs).toBe(HOUR);
    limiter.refund(right);
    expect(consume(2).retryAfterMs).toBe(HOUR);
  });

  it('does not delay when earlier locks are forgotten', () => {
    const { clock, limiter, consume } = setUp({
      penalty: lockFor(['15m', '1h'], { forget: '1h' }),
    });
    clock.advance(consume(4).retryAfterMs);
    clock.advance('40m');
    const right = limiter.consume('ada');
    consume(3);
    limiter.refund(right);
    clock.advance('20m');
    expect(consume(4).retryAfterMs).toBe(15 * MINUTE);
  });
});

describe('attempts and refunds around two locks', () => {
  it('lock, free and lock the key for longer', () => {
    const penalty = lockFor(['15s', '60s'], { forget: '1h' });
    const { clock, limiter } = setUp({ limit: 2, window: '10s', penalty });
    const take = () => limiter.consume('ada');
    const wait = (): number => {
      const { retryAfterMs } = take();
      clock.advance('1s');
      return retryAfterMs;
    };
    const a = take();
    clock.advance('1s');
    const b = take();
    clock.advance('1s');
    expect([wait(), wait()]).toEqual([15_000, 14_000]);
    expect([limiter.refund(b), limiter.peek('ada').retryAfterMs]).toEqual([true, 0]);
    clock.advance('1s');
    expect([wait(), wait()]).toEqual([5_000, 15_000]);
    clock.advance('14s');
    expect([wait(), wait(), wait()]).toEqual([0, 9_000, 60_000]);
    expect([limiter.refund(a), limiter.peek('ada').retryAfterMs]).toEqual([false, 59_000]);
  });
});

describe('changed numbers', () => {
  it('end no lock: live limits, windows, and plans', () => {
    const control = memoryControl();
    const { clock, limiter, consume } = setUp({}, { control });
    consume(4);
    for (const limits of [{ limit: 50 }, { window: '1h' }, { factor: 3 }, { limit: 1 }]) {
      control.set('logins', { limits }, NOTE);
      expect(limiter.consume('ada').retryAfterMs).toBe(15 * MINUTE);
    }
    control.set('logins', { limits: { limit: 50 } }, NOTE);
    for (const plan of [{ limit: 100 }, { window: '1s' }]) {
      expect(limiter.consume('ada', { plan }).allowed).toBe(false);
    }
    clock.advance('15m');
    expect(limiter.consume('ada')).toMatchObject({ used: 1, remaining: 49 });
  });

  it('of the limit keep what is used, and those of the window apply to the next one', () => {
    const control = memoryControl();
    const { clock, limiter, consume } = setUp({}, { control });
    consume(2);
    control.set('logins', { limits: { limit: 10 } }, NOTE);
    expect(limiter.peek('ada').remaining).toBe(8);
    control.set('logins', { limits: { window: '1h' } }, NOTE);
    clock.advance('10m');
    expect(limiter.consume('ada')).toMatchObject({ used: 1, resetMs: HOUR });
  });
});

describe('mistakes', () => {
  it.each<[string, Partial<LimiterOptions>]>([
    ['SPW_OPTION_INVALID', { algorithm: tokenBucket }],
    ['SPW_OPTION_INVALID', { algorithm: slidingLog }],
    ['SPW_OPTION_INVALID', { anchor: 'epoch' }],
    ['SPW_OPTION_INVALID', { burst: 3 }],
    ['SPW_OPTION_INVALID', { overage: 'allow' }],
    ['SPW_OPTION_INVALID', { penalty: '15m' as never }],
    ['SPW_OPTION_INVALID', { penalty: null as never }],
    ['SPW_WINDOW_INVALID', { window: calendar('day') }],
    ['SPW_WINDOW_INVALID', { window: '401d' }],
    ['SPW_LIMIT_INVALID', { limit: 0 }],
  ])('%s: %o', (code, options) => {
    expect(() => createLimiter({ ...LOGINS, ...options })).toThrow(code);
  });

  it.each<[unknown, object?]>([
    [[]],
    ['15m'],
    [['0ms']],
    [['401d']],
    [['15']],
    [Array(17).fill('1m')],
    [Object.assign(Array(2), { 0: '1m' })],
    [Array(2)],
    [['1m'], { forget: '0s' }],
    [['1m'], { forgets: '1d' }],
  ])('lockFor(%o, %o)', (durations, options) => {
    expect(() => lockFor(durations as never, options)).toThrow(/SPW_OPTION_(INVALID|UNKNOWN)/);
  });

  it('accepts the algorithm and anchor that it sets', () => {
    const options = { ...LOGINS, algorithm: fixedWindow, anchor: 'first-request' } as const;
    expect(createLimiter(options).rule.machine).toBe('lock');
  });
});

describe('in a guard', () => {
  function guardWith(options: Partial<RateLimitOptions> = {}) {
    const clock = new ManualClock();
    const guard = createGuard(
      rateLimit({
        ...LOGINS,
        key: 'ada',
        refundIf: (_, { status = 500 }) => status < 400,
        ...options,
      }),
      { store: memoryStore({ clock }) },
    );
    return { clock, guard };
  }

  it('a success refunds its own attempt, also when another was rejected meanwhile', async () => {
    const { guard } = guardWith();
    for (let i = 0; i < 2; i += 1) await (await guard.admit(request())).release({ status: 401 });
    const right = await guard.admit(request());
    const meanwhile = await guard.admit(request());
    expect(meanwhile.decisions[0]).toMatchObject({ allowed: false, retryAfterMs: 15 * MINUTE });
    await right.release({ status: 200 });
    const next = await guard.admit(request());
    expect(next.decisions[0]).toMatchObject({ allowed: true, used: 3 });
    await next.release({ status: 401 });
    expect((await guard.admit(request())).allowed).toBe(false);
  });

  it('a plan may raise the limit; one with a burst is a fault', async () => {
    const faults: unknown[] = [];
    const clock = new ManualClock();
    const plans = [{ limit: 5 }, { burst: 5 }];
    let plan = plans[0];
    const limiter = rateLimit({ ...LOGINS, key: 'ada', plan: () => plan });
    const guard = createGuard(limiter, {
      store: memoryStore({ clock }),
      onFault: ({ source }) => faults.push(source),
    });
    for (let i = 0; i < 5; i += 1) expect((await guard.admit(request())).allowed).toBe(true);
    expect(faults).toEqual([]);
    plan = plans[1];
    expect((await guard.admit(request())).allowed).toBe(false);
    expect(faults).toEqual(['plan']);
  });
});

describe('a full memory store', () => {
  it('keeps locks, and locks no shared count', () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock, maxEntries: 10 });
    const limiter = createLimiter(LOGINS, { store });
    for (let i = 0; i < 4; i += 1) limiter.consume('ada');
    for (let i = 0; i < 5_000; i += 1) limiter.consume(`flood ${i}`);
    expect(limiter.consume('ada').retryAfterMs).toBe(15 * MINUTE);
    for (let i = 0; i < 9; i += 1) limiter.consume('new');
    expect(limiter.consume('new').allowed).toBe(false);
    clock.advance('10m');
    expect(limiter.consume('new').allowed).toBe(true);
    expect(limiter.consume('ada').allowed).toBe(false);
  });
});

describe('over a store far away', () => {
  /** Two processes over one store, which can be down. */
  function farAway(settings: { onStoreError?: 'deny' } = {}) {
    const clock = new ManualClock();
    const shared = memoryStore({ clock });
    const store = remoteStore({
      sync: false as const,
      testClock: clock,
      down: false,
      calls: 0,
      async apply(steps: readonly Step[]): Promise<readonly Answer[]> {
        this.calls += 1;
        if (this.down) throw new Error('down');
        return shared.apply(steps);
      },
    });
    const limiter = createLimiter(LOGINS, {
      store,
      clock,
      breaker: false,
      logger: false,
      ...settings,
    });
    const elsewhere = createLimiter(LOGINS, { store: shared });
    const consume = async (times: number) => {
      let last = await limiter.consume('ada');
      for (let i = 1; i < times; i += 1) last = await limiter.consume('ada');
      return last;
    };
    return { clock, store, limiter, elsewhere, consume };
  }

  it('a lock is cached for a second, so a refund elsewhere ends it here within one', async () => {
    const { clock, store, elsewhere, consume } = farAway();
    const right = elsewhere.consume('ada');
    await consume(3);
    expect(store.calls).toBe(3);
    elsewhere.refund(right);
    clock.advance(999);
    expect((await consume(20)).allowed).toBe(false);
    expect(store.calls).toBe(3);
    clock.advance(1);
    expect((await consume(1)).allowed).toBe(true);
  });

  it('a lock that this process has seen goes on in an outage', async () => {
    const { clock, store, elsewhere, consume } = farAway();
    for (let i = 0; i < 3; i += 1) elsewhere.consume('ada');
    expect((await consume(1)).retryAfterMs).toBe(15 * MINUTE);
    store.down = true;
    clock.advance('10m');
    expect(await consume(3)).toMatchObject({ allowed: false, retryAfterMs: 5 * MINUTE });
    clock.advance('5m');
    expect((await consume(1)).allowed).toBe(true);
  });

  it('a lock that only a look has seen goes on in an outage', async () => {
    const { store, limiter, elsewhere, consume } = farAway();
    for (let i = 0; i < 4; i += 1) elsewhere.consume('ada');
    expect((await limiter.peek('ada')).retryAfterMs).toBe(15 * MINUTE);
    store.down = true;
    expect(await consume(1)).toMatchObject({ allowed: false, retryAfterMs: 15 * MINUTE });
  });

  it('a lock goes on in an outage though the fallback counters are full', async () => {
    const { clock, store, limiter, elsewhere, consume } = farAway();
    for (let i = 0; i < 100; i += 1) {
      await limiter.record(Array.from({ length: 1_000 }, (_, k) => `k${i * 1_000 + k}`));
    }
    for (let i = 0; i < 4; i += 1) elsewhere.consume('ada');
    await consume(1);
    store.down = true;
    clock.advance('10m');
    expect(await consume(1)).toMatchObject({ allowed: false, retryAfterMs: 5 * MINUTE });
  });

  it('a later lock, which is longer, goes on too', async () => {
    const { clock, store, elsewhere, consume } = farAway();
    for (let i = 0; i < 4; i += 1) elsewhere.consume('ada');
    clock.advance('15m');
    for (let i = 0; i < 3; i += 1) elsewhere.consume('ada');
    expect((await consume(1)).retryAfterMs).toBe(HOUR);
    store.down = true;
    clock.advance('10m');
    expect(await consume(2)).toMatchObject({ allowed: false, retryAfterMs: 50 * MINUTE });
  });

  it('a lock that has ended elsewhere does not come back in an outage', async () => {
    const { clock, store, elsewhere, consume } = farAway();
    for (let i = 0; i < 3; i += 1) elsewhere.consume('ada');
    await consume(1);
    elsewhere.reset('ada');
    clock.advance('1s');
    expect((await consume(1)).allowed).toBe(true);
    store.down = true;
    expect(await consume(1)).toMatchObject({ allowed: true, outcome: 'error', used: 2 });
  });

  it('locks start in an outage too, and end by a refund', async () => {
    const { clock, store, limiter, consume } = farAway();
    store.down = true;
    const right = await consume(1);
    expect((await consume(3)).retryAfterMs).toBe(15 * MINUTE);
    clock.advance('12m');
    expect((await consume(1)).retryAfterMs).toBe(3 * MINUTE);
    await limiter.refund(right);
    clock.advance('1ms');
    expect((await consume(1)).allowed).toBe(true);
  });

  it('with deny, nothing passes in an outage', async () => {
    const { store, consume } = farAway({ onStoreError: 'deny' });
    store.down = true;
    expect(await consume(1)).toMatchObject({ allowed: false, reason: 'store-error' });
  });
});
