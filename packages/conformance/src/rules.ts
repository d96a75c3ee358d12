import * as core from '@spillway/core';
import {
  type CalendarRule,
  type ClaimsRule,
  calendarNamed,
  type DistinctRule,
  type LeasesRule,
  type LockRule,
  makeCalendarRule,
  makeClaimsRule,
  makeDistinctRule,
  makeLeasesRule,
  makeLockRule,
  makeRule,
  makeShaperRule,
  type QueueRule,
  type RateRule,
  type Rule,
  withDebt,
} from '@spillway/core/store';
import fc from 'fast-check';

/** The algorithms for rates. A fixed window that is anchored at the first request has a separate name here. */
export type RateAlgorithm = core.Algorithm | 'anchored-window';

/** All algorithms that core exports as values, so each check that tries them tries a new one, too. */
export const ALGORITHMS: readonly RateAlgorithm[] = [
  ...Object.values(core).flatMap((value) =>
    'makeRule' in value ? (value.name as core.Algorithm) : [],
  ),
  'anchored-window',
];

export function rateRule(
  algorithm: RateAlgorithm,
  limit: number,
  windowUs: number,
  burst?: number,
): RateRule {
  return algorithm === 'anchored-window'
    ? makeRule('fixed-window', limit, windowUs, burst, 'first-request')
    : makeRule(algorithm, limit, windowUs, burst);
}

const MILLISECOND_US = 1_000;
const DAYS_400_US: number = 400 * 86_400_000_000;

/** Limits per window: typical, extreme, or not a divisor of the window. */
const QUOTAS: readonly (readonly [limit: number, windowUs: number])[] = [
  [3, 10_000_000],
  [10, 7_000_000],
  [1, 5_000_000],
  [7, 1_000_003],
  [100, 60_000_000],
  [1, MILLISECOND_US],
  [7, MILLISECOND_US],
  [1_000_000_000, MILLISECOND_US],
  [1, DAYS_400_US],
  [1_000_000_000, DAYS_400_US],
  [999_999_937, DAYS_400_US - 1],
];

const quotas = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...QUOTAS) },
  {
    weight: 2,
    arbitrary: fc.tuple(
      fc.integer({ min: 1, max: 20 }),
      fc.oneof(
        fc.integer({ min: 1_000, max: 2_000 }),
        fc.integer({ min: 1_000, max: 100_000_000 }),
      ),
    ),
  },
);

const bursts = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 30 }) },
  { weight: 1, arbitrary: fc.constantFrom(1, 1_000_000_000) },
);

export function rulesOf(algorithm: RateAlgorithm): fc.Arbitrary<RateRule> {
  return fc
    .tuple(quotas, bursts)
    .map(([[limit, windowUs], burst]) => rateRule(algorithm, limit, windowUs, burst));
}

/** Rules with a limit of at most 20 and a window of at most 100 s, where each unit makes a difference. */
export function smallRulesOf(algorithm: RateAlgorithm): fc.Arbitrary<RateRule> {
  return fc
    .tuple(
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1_000, max: 100_000_000 }),
      fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined }),
    )
    .map(([limit, windowUs, burst]) => rateRule(algorithm, limit, windowUs, burst));
}

export const leasesRules: fc.Arbitrary<LeasesRule> = fc
  .tuple(
    fc.integer({ min: 1, max: 8 }),
    fc.constantFrom(1_000_000, 7_000_003, 60_000_000),
    fc.constantFrom(0, 0, 0.2, 0.5, 1),
  )
  .map(([limit, leaseUs, reserve]) => makeLeasesRule(limit, leaseUs, reserve));

export const claimsRules: fc.Arbitrary<ClaimsRule> = fc
  .tuple(
    fc.constantFrom(1_000_000, 7_000_003, 60_000_000, 86_400_000_000),
    fc.constantFrom(1_000_000, 30_000_001, 86_400_000_000, DAYS_400_US),
  )
  .map(([leaseUs, keepUs]) => makeClaimsRule(leaseUs, keepUs));

/** Some of these zones have days of 23, 23.5, 24.5 or 25 hours, or days whose midnight does not exist. */
const CALENDARS = [
  'day@UTC',
  'day@Asia/Beirut',
  'day@Australia/Lord_Howe',
  'week@America/New_York',
  'week-7@Africa/Cairo',
  'month@Europe/Berlin',
  'month-31@Pacific/Apia',
  'billing',
] as const;

export const calendarRules: fc.Arbitrary<CalendarRule> = fc
  .tuple(
    fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constantFrom(1, 1_000_000_000)),
    fc.constantFrom(...CALENDARS),
  )
  .map(([limit, name]) => makeCalendarRule(limit, calendarNamed(name)));

const MINUTE_US = 60_000_000;

export const lockRules: fc.Arbitrary<LockRule> = fc
  .tuple(
    fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constantFrom(1, 1_000_000_000)),
    fc.constantFrom(MILLISECOND_US, 7_000_003, MINUTE_US),
    fc.array(fc.constantFrom(MILLISECOND_US, 5_000_001, MINUTE_US, DAYS_400_US), {
      minLength: 1,
      maxLength: 3,
    }),
    fc.constantFrom(MILLISECOND_US, 20_000_000, 3_600_000_000, DAYS_400_US),
  )
  .map(([limit, windowUs, locksUs, forgetUs]) => makeLockRule(limit, windowUs, locksUs, forgetUs));

/** Rules between which a limit with a penalty may change during a lock. Most share one count. */
export const changedLockRules: fc.Arbitrary<readonly LockRule[]> = fc.array(
  fc
    .tuple(
      fc.constantFrom(1, 2, 5),
      fc.constantFrom(1_000_000, 2_000_000, 30_000_000),
      fc.constantFrom([2_000_000, 8_000_000], [5_000_000], [1_000_000, 1_000_000, 60_000_000]),
      fc.constantFrom(10_000_000, 10_000_000, 40_000_000),
    )
    .map(([limit, windowUs, locksUs, forgetUs]) =>
      makeLockRule(limit, windowUs, locksUs, forgetUs),
    ),
  { minLength: 2, maxLength: 4 },
);

export const debtRules: fc.Arbitrary<Rule> = fc
  .tuple(
    fc.oneof(
      { weight: 3, arbitrary: rulesOf('token-bucket') },
      { weight: 2, arbitrary: calendarRules },
    ),
    fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(1, 1_000_000_000)),
    fc.constantFrom(1, 1, 2, 3),
  )
  .map(([rule, debt, times]) => withDebt(rule, debt, Math.min(rule.limit * times, 1_000_000_000)));
export const distinctRules: fc.Arbitrary<DistinctRule> = fc
  .tuple(
    fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 1, max: 9 }) },
      { weight: 1, arbitrary: fc.constantFrom(99, 150, 10_000) },
    ),
    fc.constantFrom(MILLISECOND_US, 1_000_003, 7_000_000, 60_000_000, DAYS_400_US),
  )
  .map(([limit, windowUs]) => makeDistinctRule(limit, windowUs));

/** Rules between which a limit on distinct items may change. Rules with the same window share a count. */
export const changedDistinctRules: fc.Arbitrary<readonly DistinctRule[]> = fc.array(
  fc
    .tuple(fc.constantFrom(1, 3, 5, 8, 120), fc.constantFrom(7_000_000, 7_000_000, 1_000_003))
    .map(([limit, windowUs]) => makeDistinctRule(limit, windowUs)),
  { minLength: 2, maxLength: 4 },
);

export const queueRules: fc.Arbitrary<QueueRule> = fc
  .tuple(
    quotas,
    fc.oneof(
      { weight: 3, arbitrary: fc.constant(1) },
      { weight: 3, arbitrary: fc.integer({ min: 1, max: 30 }) },
      { weight: 1, arbitrary: fc.constant(1_000_000_000) },
    ),
    fc.oneof(
      { weight: 3, arbitrary: fc.integer({ min: 0, max: 30_000_000 }) },
      { weight: 1, arbitrary: fc.constantFrom(0, 1, DAYS_400_US) },
    ),
  )
  .map(([[limit, windowUs], burst, waitUs]) => makeShaperRule(limit, windowUs, burst, waitUs));

/** Rules between which a shaper may change while its jobs wait. All share one count. */
export const changedQueueRules: fc.Arbitrary<readonly QueueRule[]> = fc.array(
  fc
    .tuple(
      fc.constantFrom(1, 2, 4, 7, 14),
      fc.constantFrom(1_000_000, 2_000_000, 7_000_003),
      fc.constantFrom(1, 1, 2, 5),
      fc.constantFrom(0, 500_000, 3_000_001, 30_000_000),
    )
    .map(([limit, windowUs, burst, waitUs]) => makeShaperRule(limit, windowUs, burst, waitUs)),
  { minLength: 2, maxLength: 4 },
);

const anyRule: fc.Arbitrary<Rule> = fc.oneof(
  ...ALGORITHMS.map(rulesOf),
  calendarRules,
  debtRules,
  queueRules,
  leasesRules,
  claimsRules,
  lockRules,
  distinctRules,
);

export const severalRules: fc.Arbitrary<readonly Rule[]> = fc.array(anyRule, {
  minLength: 2,
  maxLength: 4,
});

/** Rules that one limiter may have in different releases of an app. Some share a count, others must not. */
export const kinRules: fc.Arbitrary<readonly Rule[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc
        .tuple(
          fc.constantFrom<RateAlgorithm>('token-bucket', ...ALGORITHMS),
          fc.constantFrom(1, 2, 5, 7, 10, 14),
          fc.constantFrom(1_000_000, 2_000_000, 7_000_003),
          fc.constantFrom(undefined, undefined, 1, 5, 10),
        )
        .map(([algorithm, limit, windowUs, burst]) => rateRule(algorithm, limit, windowUs, burst)),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(
          fc.integer({ min: 1, max: 6 }),
          fc.constantFrom(1_000_000, 7_000_003, 86_400_000_000),
          fc.constantFrom(0, 0.5),
        )
        .map(([limit, leaseUs, reserve]) => makeLeasesRule(limit, leaseUs, reserve)),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom(1, 2, 7), fc.constantFrom(1, 5), fc.constantFrom(0, 2_000_000))
        .map(([limit, burst, waitUs]) => makeShaperRule(limit, 1_000_000, burst, waitUs)),
    },
    { weight: 1, arbitrary: calendarRules },
    { weight: 1, arbitrary: claimsRules },
    { weight: 1, arbitrary: lockRules },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom(1, 2, 5, 7, 14), fc.constantFrom(1, 2, 5), fc.constantFrom(1, 5, 10))
        .map(([limit, debt, ofLimit]) =>
          withDebt(rateRule('token-bucket', limit, 2_000_000), debt, ofLimit),
        ),
    },
    {
      weight: 1,
      arbitrary: calendarRules.map((rule) => withDebt(rule, 3, 2)),
    },
    { weight: 1, arbitrary: distinctRules },
  ),
  { minLength: 2, maxLength: 5 },
);

const MONTH_US: number = 31 * 86_400_000_000;
const PERIODS_US: Readonly<Record<string, number>> = {
  day: 86_400_000_000,
  wee: 7 * 86_400_000_000,
};

/**
 * A rule's window, calendar period (31 days for months and billing periods) or lease. Most times in generated traces
 * are fractions or multiples of it.
 */
export function periodUs(rule: Rule): number {
  if (rule.machine === 'calendar') return PERIODS_US[rule.calendar.name.slice(0, 3)] ?? MONTH_US;
  return 'leaseUs' in rule ? rule.leaseUs : rule.windowUs;
}

export function extremesOf(algorithm: RateAlgorithm): fc.Arbitrary<RateRule> {
  return fc
    .tuple(
      fc.constantFrom(1, 1_000_000_000),
      fc.constantFrom(MILLISECOND_US, DAYS_400_US),
      fc.constantFrom(undefined, 1, 1_000_000_000),
    )
    .map(([limit, windowUs, burst]) => rateRule(algorithm, limit, windowUs, burst));
}

export function describe(rule: Rule): string {
  if (rule.machine === 'leases') {
    return `leases of ${rule.leaseUs} us, ${rule.limit} at once, ${rule.open} if not critical`;
  }
  if (rule.machine === 'claims') {
    return `claims under leases of ${rule.leaseUs} us, kept for ${rule.keepUs} us`;
  }
  const debt = rule.debt === undefined ? '' : `, debt ${rule.debt}`;
  if (rule.machine === 'calendar') return `${rule.limit} per ${rule.calendar.name}${debt}`;
  const { algorithm } = rule.logic.declared(rule);
  const burst = 'burst' in rule ? `, burst ${rule.burst}` : '';
  const wait = rule.machine === 'queue' ? `, waits ${rule.waitUs} us` : '';
  return `${algorithm} ${rule.limit} per ${rule.windowUs} us${burst}${wait}${debt}`;
}
