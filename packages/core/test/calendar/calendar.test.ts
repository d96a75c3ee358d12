/** Limits by calendar and by billing period, as apps ask for them. */

import {
  type Admission,
  type BillingPeriod,
  calendar,
  createGuard,
  createLimiter,
  createLimiters,
  type Fault,
  fixedWindow,
  memoryControl,
  memoryStore,
  rateLimit,
} from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { distantStore } from '../distant-store.js';

const at = (text: string): number => Date.parse(text) * 1000;
const HOUR_MS = 3_600_000;

function monthly(limit = 3) {
  const clock = new ManualClock(at('2026-11-30T12:00:00Z'));
  const store = memoryStore({ clock });
  const window = calendar('month', { timeZone: 'Europe/Berlin' });
  return { clock, store, limiter: createLimiter({ name: 'monthly', limit, window }, { store }) };
}

const october = { id: 'oct', start: new Date('2026-10-15'), end: new Date('2026-11-15') };
const november = { id: 'nov', start: new Date('2026-11-15'), end: new Date('2026-12-15') };

function distant() {
  const clock = new ManualClock(at('2026-11-30T12:00:00Z'));
  return { clock, ...distantStore(clock) };
}

describe('a limit by calendar', () => {
  it('counts until the month ends in its time zone', () => {
    const { clock, limiter } = monthly();
    expect(limiter.consume('ada')).toMatchObject({ remaining: 2, resetMs: 11 * HOUR_MS });
    expect(limiter.consume('ada', { cost: 2 }).remaining).toBe(0);
    const rejected = limiter.consume('ada');
    expect(rejected).toMatchObject({
      allowed: false,
      reason: 'rate',
      retryAfterMs: 11 * HOUR_MS,
      used: 3,
    });
    clock.setUs(at('2026-11-30T23:00:00Z') - 1);
    expect(limiter.consume('ada')).toMatchObject({ allowed: false, retryAfterMs: 0.001 });
    clock.setUs(at('2026-11-30T23:00:00Z'));
    expect(limiter.consume('ada')).toMatchObject({ remaining: 2, resetMs: 31 * 24 * HOUR_MS });
  });

  it('peeks, refunds, records and resets', () => {
    const { clock, limiter } = monthly();
    const first = limiter.consume('ada', { cost: 2 });
    expect(limiter.peek('ada')).toMatchObject({ allowed: true, remaining: 1 });
    expect(limiter.record('ada', { cost: 5 }).binding).toMatchObject({ allowed: false, used: 3 });
    expect(limiter.refund(first, { cost: 1 })).toBe(true);
    expect(limiter.peek('ada').remaining).toBe(1);
    expect(limiter.reset('ada')).toBe(true);
    expect(limiter.peek('ada')).toMatchObject({ remaining: 3, resetMs: 0 });
    const late = limiter.consume('ada');
    clock.setUs(at('2026-12-01T00:00:00Z'));
    limiter.consume('ada');
    expect(limiter.refund(late)).toBe(false);
    expect(limiter.peek('ada').remaining).toBe(2);
  });

  it('keeps used units when its limit is changed live, and under a plan', () => {
    const clock = new ManualClock(at('2026-11-30T12:00:00Z'));
    const control = memoryControl();
    const options = { name: 'daily', limit: 10, window: calendar('day') };
    const limiter = createLimiter(options, { store: memoryStore({ clock }), control });
    limiter.consume('ada', { cost: 4 });
    const note = { by: 'ada', because: 'a test' };
    control.set('daily', { limits: { limit: 5 } }, note);
    expect(limiter.peek('ada').remaining).toBe(1);
    control.set('daily', { limits: { factor: 2 } }, note);
    expect(limiter.peek('ada').remaining).toBe(16);
    expect(limiter.peek('ada', { plan: { name: 'pro', limit: 100 } })).toMatchObject({
      remaining: 196,
      policy: { plan: 'pro' },
    });
  });

  it('goes on when the clock goes back, and is not blocked by a clock that was a year ahead', () => {
    const { clock, limiter } = monthly(1);
    clock.setUs(at('2026-11-30T23:30:00Z'));
    limiter.consume('ada');
    clock.setUs(at('2026-11-30T22:30:00Z'));
    expect(limiter.consume('ada')).toMatchObject({ allowed: false });
    clock.setUs(at('2027-12-15T00:00:00Z'));
    limiter.consume('ada');
    clock.setUs(at('2026-12-30T23:00:00Z'));
    expect(limiter.consume('ada')).toMatchObject({ allowed: false, retryAfterMs: 24 * HOUR_MS });
    clock.setUs(at('2026-12-31T23:00:00Z'));
    expect(limiter.consume('ada').allowed).toBe(true);
  });

  it('has the name, the numbers and the headers of its calendar', () => {
    const clock = new ManualClock(at('2026-11-30T12:00:00Z'));
    const week = calendar('week', { on: 7 });
    const months = calendar('month', { timeZone: 'Europe/Berlin' });
    const limiters = [
      rateLimit({ name: 'w', limit: 5, window: week }),
      rateLimit({ name: 'm', limit: 1, window: months }),
      rateLimit({ name: 'b', limit: 9, window: calendar(() => october) }),
    ];
    const store = memoryStore({ clock });
    const guard = createGuard(limiters, { store, onFault() {} });
    const headersOf = () => Object.fromEntries((guard.admit(request()) as Admission).headers);
    expect(headersOf()).toEqual({
      'RateLimit-Policy': '"w";q=5;w=604800, "m";q=1;w=2678400, "b";q=9',
      RateLimit: '"w";r=4;t=475200, "m";r=0;t=39600, "b";r=8;t=1339200',
    });
    expect(headersOf()['Retry-After']).toBe('39600');
    expect(createLimiter({ limit: 5, window: week }).name).toBe('5-per-week-7@UTC');
    const other = () => rateLimit({ name: 'w', limit: 5, window: calendar('week') });
    expect(() => createGuard(other(), { store })).toThrow(
      /"w" is calendar:week-7@UTC \(limit 5\) in this store, not calendar:week@UTC \(limit 5\)/,
    );
  });

  it('is rejected from the denial cache until its period ends, and admitted then', async () => {
    const { clock, store, calls } = distant();
    const options = { name: 'daily', limit: 1, window: calendar('day') };
    const limiter = createLimiter(options, { store, clock });
    await limiter.consume('ada');
    clock.setUs(at('2026-11-30T23:59:30Z'));
    await limiter.consume('ada');
    expect(await limiter.consume('ada')).toMatchObject({ allowed: false, retryAfterMs: 30_000 });
    expect(calls()).toBe(2);
    clock.setUs(at('2026-12-01T00:00:00Z'));
    expect((await limiter.consume('ada')).allowed).toBe(true);
    expect(calls()).toBe(3);
  });

  it('goes on in this process when its store is down, for a share of the limit', async () => {
    const { clock, store, down } = distant();
    const options = { name: 'daily', limit: 10, window: calendar('day') };
    const limiter = createLimiter(options, { store, clock, localShare: 0.5, logger: false });
    await limiter.consume('ada', { cost: 3 });
    down();
    expect(await limiter.consume('ada')).toMatchObject({ outcome: 'error', remaining: 1 });
    await limiter.consume('ada');
    expect(await limiter.consume('ada')).toMatchObject({ allowed: false, outcome: 'error' });
    clock.setUs(at('2026-12-01T00:00:00Z'));
    expect(await limiter.consume('ada')).toMatchObject({ allowed: true, remaining: 4 });
  });

  it('is one of several limits of one decision', () => {
    const { clock, store } = monthly();
    const limits = createLimiters(
      { month: { limit: 2, window: calendar('month') }, burst: { limit: 1, window: '1m' } },
      { store },
    );
    limits.consume({ month: 'ada', burst: 'ada' });
    expect(limits.consume({ month: 'ada', burst: 'ada' }).binding.limiter).toBe('burst');
    clock.advance('1m');
    expect(limits.consume({ month: 'ada', burst: 'ada' }).decisions.month.remaining).toBe(0);
  });

  it('shares counts in a full store', () => {
    const clock = new ManualClock(at('2026-11-30T12:00:00Z'));
    const store = memoryStore({ clock, maxEntries: 1 });
    const daily = createLimiter({ name: 'daily', limit: 5, window: calendar('day') }, { store });
    const own = calendar(() => october);
    const billing = createLimiter(
      { name: 'billing', limit: 5, window: own },
      { store, onFault() {} },
    );
    daily.consume('ada');
    const left = (key: string, period: BillingPeriod) => billing.consume(key, { period }).remaining;
    // Keys that share a count are limited too early, never too late: a later period of one key frees no other.
    expect(Array.from({ length: 5 }, () => left('bob', october))).toEqual([4, 3, 2, 1, 0]);
    expect(left('bob', november)).toBe(0);
    expect(daily.consume('ada').remaining).toBe(3);
  });

  it('needs no options of algorithms, and says what is wrong', () => {
    const window = calendar('day');
    const limit = (more: object) => () => rateLimit({ limit: 5, window, ...more });
    expect(limit({ algorithm: fixedWindow })).toThrow(/left out beside calendar\(\)/);
    expect(limit({ burst: 5 })).toThrow(/left out beside calendar\(\)/);
    expect(limit({ anchor: 'epoch' })).toThrow(/left out beside calendar\(\)/);
    // @ts-expect-error no such period
    expect(() => calendar('year')).toThrow(/window must be 'day', 'week', 'month' or a function/);
    expect(() => calendar('day', { timeZone: 'Mars' })).toThrow(/timeZone must be .* got "Mars"/);
    expect(() => calendar('day', { on: 2 })).toThrow(/on must be left out for a day, got 2/);
    expect(() => calendar('week', { on: 0 })).toThrow(/on must be an integer from 1 to 7, got 0/);
    expect(() => calendar('month', { on: 32 })).toThrow(/an integer from 1 to 31, got 32/);
    // @ts-expect-error no such option
    expect(() => calendar('month', { timezone: 'UTC' })).toThrow(/did you mean "timeZone"/);
  });
});

describe('a limit by billing period', () => {
  function billed(periodOf: (id: string) => BillingPeriod | Promise<BillingPeriod>) {
    const clock = new ManualClock(at('2026-11-10T12:00:00Z'));
    const faults: string[] = [];
    const guard = createGuard<string>(
      rateLimit({
        name: 'paid',
        limit: 10,
        window: calendar(({ raw }) => periodOf(raw)),
        key: ({ raw }) => raw,
      }),
      {
        store: memoryStore({ clock }),
        onFault: ({ source, error }: Fault) =>
          faults.push(`${source}: ${(error as Error).message}`),
      },
    );
    const left = async (id = 'ada') => {
      const { decisions } = await guard.admit({ ...request(), raw: id });
      return decisions[0]?.remaining;
    };
    return { clock, left, faults };
  }
  const years = { id: 'long', start: Date.parse('2026-11-01'), end: Date.parse('2027-11-01') };

  it('counts in the period of the subscription, also an asynchronous one', async () => {
    const periods: Record<string, BillingPeriod> = { ada: october, bob: years };
    const { clock, left } = billed(async (id) => periods[id] as BillingPeriod);
    expect([await left('ada'), await left('bob')]).toEqual([9, 9]);
    periods.ada = november;
    clock.setUs(at('2026-11-15T00:00:00Z'));
    expect([await left('ada'), await left('bob')]).toEqual([9, 8]);
  });

  it('goes on when the renewal is learned late, and keeps what was used meanwhile', async () => {
    let period: BillingPeriod = october;
    const { clock, left, faults } = billed(() => period);
    await left();
    clock.setUs(at('2026-11-15T00:00:00Z'));
    expect([await left(), await left()]).toEqual([9, 8]);
    expect(faults).toContain(
      'period: period "oct" of limiter "paid" has ended: the next goes on without a new one',
    );
    period = { ...november, start: new Date('2026-11-15T00:00:01Z') };
    expect(await left()).toBe(7);
    period = november;
    expect(await left()).toBe(6);
    clock.setUs(at('2026-12-15T00:00:00Z'));
    expect(await left()).toBe(9);
  });

  it('begins with a later period at once, and counts an older one in the stored one', async () => {
    let period: BillingPeriod = years;
    const { left } = billed(() => period);
    expect([await left(), await left()]).toEqual([9, 8]);
    period = { id: 'upgrade', start: new Date('2026-11-10'), end: new Date('2026-12-10') };
    expect(await left()).toBe(9);
    period = years;
    expect(await left()).toBe(8);
  });

  it.each([
    ['2026-10-01', '2026-11-01', '2026-12-01', 'a shorter next one'],
    ['2026-11-01', '2026-12-01', '2027-01-01', 'a longer next one'],
    ['2026-11-01', '2026-11-15', '2026-12-15', 'the end of a trial'],
  ])(
    'begins with the next at its start, not before it (%s to %s, %s: %s)',
    (...[from, to, end]) => {
      const clock = new ManualClock(at(`${from}T00:00:00Z`));
      const window = calendar(() => ({ id: '', start: 0, end: 0 }));
      const store = memoryStore({ clock });
      const limiter = createLimiter({ name: 'paid', limit: 10, window }, { store, logger: false });
      const period = { id: 'a', start: new Date(from), end: new Date(to) };
      const next = { id: 'b', start: new Date(to), end: new Date(end) };
      const use = (own: BillingPeriod, cost = 10) => limiter.consume('ada', { period: own, cost });
      use(period);
      clock.setUs(at(`${to}T00:00:00Z`) - 26 * HOUR_MS * 1000);
      expect(use(next, 1)).toMatchObject({ allowed: false, used: 10, resetMs: 26 * HOUR_MS });
      clock.setUs(at(`${to}T00:00:00Z`));
      expect(use(next).allowed).toBe(true);
      expect(use(next, 1).allowed).toBe(false);
    },
  );

  it('goes on when only the next one was known at first', () => {
    const clock = new ManualClock(at('2026-11-13T00:00:00Z'));
    const store = memoryStore({ clock });
    const window = calendar(() => november);
    const limiter = createLimiter({ name: 'paid', limit: 10, window }, { store });
    limiter.consume('ada', { period: november, cost: 4 });
    const granted = limiter.consume('ada', { period: october, cost: 3 });
    expect(granted.used).toBe(7);
    expect(limiter.consume('ada', { period: november }).used).toBe(8);
    expect(limiter.refund(granted)).toBe(true);
    expect(limiter.peek('ada', { period: october }).used).toBe(5);
    expect(limiter.peek('ada', { period: years }).used).toBe(0);
  });

  it.each([
    { why: 'the function failed at first', first: undefined, period: october },
    { why: 'only the next one was known', first: november, period: october },
    {
      why: 'only an earlier next one was known',
      first: november,
      period: { ...october, end: new Date('2026-11-20') },
    },
  ])('counts on in the first known period: $why', ({ first, period }) => {
    const clock = new ManualClock(at('2026-11-13T00:00:00Z'));
    const store = memoryStore({ clock });
    const limiter = createLimiter(
      { name: 'paid', limit: 10, window: calendar(() => october) },
      { store, logger: false },
    );
    const granted = limiter.consume('ada', { period: first, cost: 6 });
    expect(limiter.consume('ada', { period, cost: 4 })).toMatchObject({ allowed: true, used: 10 });
    expect(limiter.refund(granted, { cost: 5 })).toBe(true);
    expect(limiter.peek('ada', { period }).used).toBe(5);
    clock.setUs(Number(period.end) * 1_000);
    expect(limiter.peek('ada', { period: november }).used).toBe(0);
  });

  it('does not end the current period early when the function fails', () => {
    const clock = new ManualClock(at('2026-10-20T00:00:00Z'));
    const store = memoryStore({ clock });
    const limiter = createLimiter(
      { name: 'paid', limit: 10, window: calendar(() => october) },
      { store, logger: false },
    );
    limiter.consume('ada', { period: november, cost: 6 });
    limiter.consume('ada');
    limiter.record('ada');
    const endMs = () => clock.nowUs() / 1_000 + limiter.peek('ada').resetMs;
    expect(endMs()).toBe(Number(november.start));
  });

  it('goes on with the stored period when the function fails, and without one for a month', async () => {
    let period: unknown = years;
    const { clock, left, faults } = billed(() => period as BillingPeriod);
    expect(await left()).toBe(9);
    const bad = [
      undefined,
      { ...years, id: '' },
      { ...years, id: 'x'.repeat(257) },
      { ...years, start: Number.NaN },
      { ...years, end: years.start + 43_199_000 },
      { ...years, end: years.start + 401 * 24 * HOUR_MS },
      { ...years, start: -1 },
    ];
    for (const [index, wrong] of bad.entries()) {
      period = wrong;
      expect(await left()).toBe(8 - index);
    }
    expect(faults).toHaveLength(bad.length);
    expect(faults[0]).toBe('period: period of limiter "paid" returned undefined');
    period = undefined;
    expect(await left('eve')).toBe(9);
    clock.advance('32d');
    expect(await left('eve')).toBe(9);
  });

  it('takes the period with each call of a limiter without HTTP', () => {
    const clock = new ManualClock(at('2026-11-16T00:00:00Z'));
    const window = calendar(() => november);
    const store = memoryStore({ clock });
    const faults: Fault[] = [];
    const settings = { store, onFault: (fault: Fault) => faults.push(fault) };
    const paid = createLimiter({ name: 'paid', limit: 10, window }, settings);
    expect(paid.consume('ada', { period: years }).remaining).toBe(9);
    expect(paid.peek('ada', { period: november }).remaining).toBe(10);
    const granted = paid.consume('ada', { period: november, cost: 4 });
    expect(paid.refund(granted, { cost: 1 })).toBe(true);
    expect(paid.peek('ada', { period: november }).remaining).toBe(7);
    expect(paid.consume('ada')).toMatchObject({ allowed: true, remaining: 6 });
    expect(faults).toMatchObject([{ limiter: 'paid', source: 'period' }]);
    paid.reset('ada');
    expect(paid.peek('ada', { period: years }).remaining).toBe(10);

    const limits = createLimiters({ paid: { limit: 10, window } }, settings);
    const one = limits.consume({ paid: 'bob' }, { period: { paid: november } });
    expect(one.decisions.paid.resetMs).toBe(29 * 24 * HOUR_MS);
    // @ts-expect-error no such limit
    const unknown = () => limits.consume({ paid: 'bob' }, { period: { other: november } });
    expect(unknown).toThrow(/period must be for limits in this call \(paid\), got "other"/);
  });

  it('is asked from the store each time, for it may be renewed at any moment', async () => {
    const { clock, store, calls } = distant();
    const options = { name: 'paid', limit: 1, window: calendar(() => november) };
    const limiter = createLimiter(options, { store, clock });
    await limiter.consume('ada', { period: november });
    await limiter.consume('ada', { period: november });
    await limiter.consume('ada', { period: november });
    expect(calls()).toBe(3);
  });
});
