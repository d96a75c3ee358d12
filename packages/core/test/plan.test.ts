/** Plans: whose numbers apply, what happens to the count when a plan changes, and that no plan fails a request. */

import {
  type Admission,
  concurrencyLimit,
  createGuard,
  createLimiter,
  type Decision,
  type Fault,
  fixedWindow,
  type LimitRequest,
  memoryControl,
  memoryStore,
  type Plan,
  type RateLimitOptions,
  rateLimit,
  slidingLog,
  slidingWindow,
} from '@spillway/core';
import { Tally } from '@spillway/core/adapter';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';

const note = { by: 'ada', because: 'a test' } as const;
const calls = { name: 'calls', limit: 2, window: '1m' } as const;

/** A guard and a direct limiter with the same declared numbers and separate counts. */
function setUp(declared: Partial<RateLimitOptions> = {}) {
  const clock = new ManualClock();
  const control = memoryControl();
  const faults: Fault[] = [];
  const tally = new Tally();
  const shared = {
    clock,
    control,
    observers: [tally],
    onFault: (fault: Fault) => faults.push(fault),
  };
  let own: unknown;
  const guard = createGuard(
    rateLimit({ ...calls, key: 'ada', ...declared, plan: () => own as Plan }),
    { ...shared, store: memoryStore({ clock }) },
  );
  const { algorithm, window = calls.window, burst } = declared;
  const limiter = createLimiter(
    { ...calls, algorithm, window, burst },
    { ...shared, store: memoryStore({ clock }) },
  );
  return {
    clock,
    control,
    faults,
    tally,
    limiter,
    guarded(plan?: unknown): Decision {
      own = plan;
      return (guard.admit(request()) as Admission).decisions[0] as Decision;
    },
    direct: (plan?: unknown) => limiter.consume('ada', { plan: plan as Plan }),
  };
}

const DOORS = ['guarded', 'direct'] as const;

describe.each(DOORS)('the numbers of a plan (%s)', (door) => {
  it.each<[Plan | null | undefined, object]>([
    [undefined, { limit: 2, windowMs: 60_000, burst: 2 }],
    [null, { limit: 2, windowMs: 60_000, burst: 2 }],
    [{ limit: 5 }, { limit: 5, windowMs: 60_000, burst: 5 }],
    [
      { limit: 5, burst: 9 },
      { limit: 5, windowMs: 60_000, burst: 9 },
    ],
    [{ window: '2m' }, { limit: 2, windowMs: 120_000, burst: 2 }],
    [{ window: 90_000 }, { limit: 2, windowMs: 90_000, burst: 2 }],
    [
      { name: 'paid', limit: null },
      { limit: 2, windowMs: 60_000, burst: 2, plan: 'paid' },
    ],
    [
      { name: 'paid', limit: 7, window: null, burst: null },
      { limit: 7, burst: 7, plan: 'paid' },
    ],
  ])('replace the declared ones: %j', (plan, numbers) => {
    const own = setUp();
    expect(own[door](plan).policy).toMatchObject(numbers);
    expect(own.faults).toEqual([]);
  });

  it('stand beside a declared burst', () => {
    const { policy } = setUp({ burst: 4 })[door]({ limit: 10 });
    expect(policy).toMatchObject({ limit: 10, burst: 4 });
  });

  it.each<unknown>([
    { limit: '100' },
    { limit: 1.5 },
    { limit: -1 },
    { limit: Number.NaN },
    { limit: 2 ** 31 },
    { limit: 5, window: 'soon' },
    { limit: 5, window: '60000' },
    { limit: 5, burst: 0 },
    { limit: 5, name: '' },
    { limit: 5, name: 'x'.repeat(65) },
    { limit: { valueOf: () => 5 } },
    { limit: Symbol('5') },
    {},
    { limits: 5 },
    [],
    5,
    'paid',
    () => ({ limit: 5 }),
  ])('that are wrong are a fault, and the declared ones apply: %s', (plan) => {
    const own = setUp();
    own[door]({ limit: 100, window: 60_000, burst: 100 });
    const { policy, allowed } = own[door](plan);
    expect([allowed, policy?.limit, policy?.windowMs]).toEqual([true, 2, 60_000]);
    expect(own.faults).toMatchObject([{ limiter: 'calls', source: 'plan' }]);
  });

  it('are a fault where a getter of theirs throws', () => {
    const own = setUp();
    const row = {
      get limit(): number {
        throw new Error('detached');
      },
    };
    expect(own[door](row).policy).toMatchObject({ limit: 2 });
    expect(own.faults).toMatchObject([{ source: 'plan', error: { message: 'detached' } }]);
  });

  it('with a limit of 0 let nobody pass, and the count stays as it is', () => {
    const own = setUp();
    own[door]();
    const closed = own[door]({ name: 'banned', limit: 0 });
    expect(closed).toMatchObject({ allowed: false, reason: 'never', retryAfterMs: Infinity });
    expect(own[door]()).toMatchObject({ allowed: true, remaining: 0 });
  });

  it('follow the row they are read from, though it is one object', () => {
    const own = setUp();
    const row = { limit: 5 };
    expect(own[door](row).policy?.limit).toBe(5);
    row.limit = 8;
    expect(own[door](row).policy?.limit).toBe(8);
  });

  it('come after the override of a key, before the live numbers of the limiter; a factor multiplies them', () => {
    const own = setUp();
    const limit = (plan?: Plan) => own[door](plan).policy?.limit;
    own.control.set('calls', { limits: { limit: 7 } }, note);
    expect([limit(), limit({ limit: 10 })]).toEqual([7, 10]);
    own.control.set('calls', { limits: { limit: 7, allPlans: true } }, note);
    expect([limit(), limit({ limit: 10 })]).toEqual([7, 7]);
    own.control.set('calls', { limits: { factor: 0.5 } }, note);
    expect([limit(), limit({ limit: 10 })]).toEqual([1, 5]);
    own.control.limitKey('calls', 'ada', { limit: 4 }, note);
    expect([limit(), limit({ limit: 10 }), limit({ limit: 0 })]).toEqual([4, 4, 4]);
    own.control.limitKey('calls', 'ada', { factor: 3 }, note);
    expect([limit(), limit({ limit: 10 })]).toEqual([6, 30]);
  });

  it.each([
    ['no override', undefined],
    ['a factor', { factor: 3 }],
    ['a window', { window: '1h' }],
    ['numbers for all plans', { limit: 7, allPlans: true }],
  ] as const)('with a limit of 0 stay closed under %s', (_, limits) => {
    const own = setUp();
    if (limits) own.control.set('calls', { limits }, note);
    if (limits && !('allPlans' in limits)) own.control.limitKey('calls', 'ada', limits, note);
    expect(own[door]({ limit: 0 })).toMatchObject({ allowed: false, reason: 'never' });
    expect(own.faults).toEqual([]);
  });

  it('are told apart by all that they have', () => {
    const own = setUp();
    const policyOf = (plan: unknown) => own[door](plan as Plan).policy;
    expect(policyOf({ name: 'undefined', limit: 5 })?.plan).toBe('undefined');
    expect(policyOf({ limit: 5 })?.plan).toBeUndefined();
    expect(policyOf({ name: 'null', limit: 5 })?.plan).toBe('null');
    expect(policyOf({ name: null, limit: 5 })?.plan).toBeUndefined();
    expect(policyOf({ name: 'b c', window: '1h' })?.plan).toBe('b c');
    expect(policyOf({ name: 'c', window: '1h b' })?.plan).toBeUndefined();
    expect(own.faults).toMatchObject([{ source: 'plan' }]);
  });

  it('apply without what is set live where the two make no limit', () => {
    const own = setUp({ algorithm: fixedWindow });
    own.control.set('calls', { limits: { burst: 5, allPlans: true } }, note);
    expect(own[door]({ limit: 10 }).policy?.limit).toBe(10);
    expect(own.faults).toMatchObject([{ source: 'control' }]);
  });

  it('label metrics: at most 32 names for a limiter, then other', () => {
    const own = setUp();
    for (let i = 0; i < 40; i += 1) own[door]({ name: `plan ${i}`, limit: 10 });
    const names = own.tally.decisions().map(({ labels }) => labels.plan);
    expect(names).toHaveLength(33);
    expect(names).toContain('plan 31');
    expect(own.tally.decisions().find(({ labels }) => labels.plan === 'other')?.value).toBe(8);
  });
});

describe.each(DOORS)('a plan that changes (%s)', (door) => {
  it.each([
    ['fixed window', fixedWindow],
    ['sliding window', slidingWindow],
    ['sliding log', slidingLog],
  ])('keeps the units that were used in a %s', (_, algorithm) => {
    const own = setUp({ algorithm });
    own[door]();
    own[door]();
    expect(own[door]().allowed).toBe(false);
    expect(own[door]({ limit: 5 })).toMatchObject({ allowed: true, remaining: 2 });
    expect(own[door]().allowed).toBe(false);
  });

  it('keeps the share that was used of a token bucket with the same window and no burst', () => {
    const own = setUp();
    own[door]();
    expect(own[door]({ limit: 10 })).toMatchObject({ allowed: true, remaining: 4 });
    expect(own[door]({ limit: 10 }).remaining).toBe(3);
    expect(own[door]().allowed).toBe(false);
  });

  it('begins another count with another burst: both together admit the sum', () => {
    const own = setUp();
    const admitted = { free: 0, paid: 0 };
    for (let i = 0; i < 20; i += 1) {
      if (own[door]().allowed) admitted.free += 1;
      if (own[door]({ limit: 5, burst: 6 }).allowed) admitted.paid += 1;
    }
    expect(admitted).toEqual({ free: 2, paid: 6 });
  });
});

describe('plans of requests in progress', () => {
  it('have a limit, and nothing else', () => {
    const faults: Fault[] = [];
    const plan = (of: LimitRequest) =>
      of.path === '/window' ? { limit: 3, window: '1m' as const } : { name: 'paid', limit: 2 };
    const guard = createGuard(concurrencyLimit({ name: 'now', limit: 1, plan }), {
      onFault: (fault) => faults.push(fault),
    });
    const admit = (path = '/') => guard.admit(request({ path })) as Admission;
    const first = admit();
    expect(first.decisions[0]?.policy).toMatchObject({ limit: 2, plan: 'paid' });
    expect(admit('/window').allowed).toBe(false);
    expect(faults).toMatchObject([{ limiter: 'now', source: 'plan' }]);
    expect(admit().allowed).toBe(true);
  });
});

describe('of a limiter without HTTP', () => {
  it('a plan is given to peek, record and consumeAll too', () => {
    const { limiter } = setUp();
    const plan = { limit: 5 };
    expect(limiter.consumeAll(['ada', 'bob'], { cost: 2, plan })).toMatchObject({
      allowed: true,
      decisions: [{ remaining: 3 }, { remaining: 3 }],
    });
    expect(limiter.peek('ada', { plan }).remaining).toBe(3);
    limiter.record('ada', { plan });
    expect(limiter.peek('ada', { plan, cost: 3 }).allowed).toBe(false);
  });

  it('reset forgets the counts of the declared numbers and of plans', () => {
    const { limiter } = setUp();
    const plan = { limit: 3, burst: 1 };
    limiter.consume('ada', { cost: 2 });
    limiter.consume('ada', { plan });
    expect(limiter.reset('ada')).toBe(true);
    expect(limiter.peek('ada').remaining).toBe(2);
    expect(limiter.peek('ada', { plan }).remaining).toBe(1);
    expect(limiter.consume('ada', { plan }).allowed).toBe(true);
  });

  it('a refund gives back what was charged under the plan', () => {
    const { limiter } = setUp();
    const plan = { limit: 3, burst: 1 };
    const decision = limiter.consume('ada', { plan });
    expect(limiter.consume('ada', { plan }).allowed).toBe(false);
    expect(limiter.refund(decision)).toBe(true);
    expect(limiter.consume('ada', { plan }).allowed).toBe(true);
  });
});

it('a plan without a limit that costs could pass is no reason to reject a constant cost', () => {
  const options = { ...calls, cost: 5 } as const;
  expect(() => rateLimit(options)).toThrow('SPW_COST_INVALID');
  const guard = createGuard(rateLimit({ ...options, plan: () => ({ limit: 10 }) }));
  expect((guard.admit(request()) as Admission).allowed).toBe(true);
});

it('an asynchronous plan makes the admission a promise, a synchronous one does not', async () => {
  const make = (plan: RateLimitOptions['plan']) => createGuard(rateLimit({ ...calls, plan }));
  expect(make(() => ({ limit: 1 })).admit(request())).not.toBeInstanceOf(Promise);
  const later = make(async () => ({ limit: 1 })).admit(request());
  expect(later).toBeInstanceOf(Promise);
  expect((await later).decisions[0]?.policy?.limit).toBe(1);
});
