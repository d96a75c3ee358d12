/** A rule as data: checked integers that any store, in any language, can run. */

import { mulDiv } from '../base/exact.js';

interface RuleBase {
  /**
   * Names the count of this rule, together with the limiter's name and the key: see {@link countOf}. Made with the
   * rule.
   */
  readonly code: string;
}

/**
 * The token bucket, stored as one instant (the generic cell rate algorithm, ITU-T I.371): the instant at which the
 * bucket will be full again. One unit takes `windowUs / limit` microseconds to refill. The rule keeps that fraction
 * exactly, as `period / den`.
 */
export interface BucketRule extends RuleBase {
  readonly machine: 'bucket';
  /** Units refilled per window, 1 to 10^9. */
  readonly limit: number;
  /** Window in microseconds. */
  readonly windowUs: number;
  /**
   * Units at once: the capacity of the bucket. It is less than the declared burst only where the tolerance would be
   * more than 2^51 us.
   */
  readonly burst: number;
  /** Denominator of all fractions of a microsecond in this rule: limit / gcd(limit, windowUs). */
  readonly den: number;
  /** Microseconds per `den` units: windowUs / gcd(limit, windowUs). */
  readonly period: number;
  /** The tolerance, burst x window / limit, in whole microseconds, rounded down. */
  readonly tolUs: number;
  /** The rest of the tolerance, a numerator over `den`. */
  readonly tolNum: number;
}

/**
 * A count per window; windows are aligned to the epoch. With `sliding`, the previous window also counts, for the part
 * of it that is less than one window ago.
 */
export interface WindowRule extends RuleBase {
  readonly machine: 'window';
  readonly limit: number;
  readonly windowUs: number;
  readonly sliding: boolean;
}

/** Every admitted request with its time: exact over any interval, but it stores an entry for each request. */
export interface LogRule extends RuleBase {
  readonly machine: 'log';
  readonly limit: number;
  readonly windowUs: number;
}

/**
 * Permits for requests in progress. Each is held under a lease, which expires unless it is renewed. At most `limit` are
 * held at once, and at most `open` of them by holders that are not critical.
 */
export interface LeasesRule extends RuleBase {
  readonly machine: 'leases';
  /** Permits at once, 1 to 10^9. Critical holders are never refused, so there may be more. */
  readonly limit: number;
  /** Permits at once for holders that are not critical, 0 to `limit`. */
  readonly open: number;
  /** Length of a lease in microseconds. */
  readonly leaseUs: number;
}

/** A rule about how many units pass over time. */
export type RateRule = BucketRule | WindowRule | LogRule;

export type Rule = RateRule | LeasesRule;

/** The algorithms by the names that users write. */
export type Algorithm =
  | 'token-bucket'
  | 'fixed-window'
  | 'sliding-window-log'
  | 'sliding-window-counter';

/** The longest time that a bucket may take to fill: 2^51 us, 71 years. It keeps every instant of a rule below 2^53. */
const MAX_TOLERANCE_US: number = 2 ** 51;

/** The longest lease: 24 hours. A lease that ends later was taken before the clock went back. */
export const MAX_LEASE_US: number = 86_400_000_000;

/** The most units that the rule can admit at once. A higher cost never passes. */
export function capacityOf(rule: Rule): number {
  return rule.machine === 'bucket' ? rule.burst : rule.limit;
}

/**
 * Makes the rule of an algorithm. The numbers must have been checked: integers, `limit` and `burst` from 1 to 10^9,
 * `windowUs` from 1,000 to 400 days.
 */
export function makeRule(
  algorithm: Algorithm,
  limit: number,
  windowUs: number,
  burst: number = limit,
): RateRule {
  switch (algorithm) {
    case 'token-bucket':
      return makeBucketRule(limit, windowUs, burst);
    case 'sliding-window-log':
      return makeLogRule(limit, windowUs);
    default:
      return makeWindowRule(limit, windowUs, algorithm !== 'fixed-window');
  }
}

function makeWindowRule(limit: number, windowUs: number, sliding: boolean): WindowRule {
  const code = `${sliding ? 's' : 'f'}${windowUs.toString(36)}`;
  return { machine: 'window', code, limit, windowUs, sliding };
}

function makeLogRule(limit: number, windowUs: number): LogRule {
  return { machine: 'log', code: `l${windowUs.toString(36)}`, limit, windowUs };
}

function makeBucketRule(limit: number, windowUs: number, declaredBurst: number): BucketRule {
  const divisor = gcd(limit, windowUs);
  const den = limit / divisor;
  const period = windowUs / divisor;
  // Rounded once, here, and down: a smaller burst never admits more.
  const burst = Math.min(declaredBurst, mulDiv(MAX_TOLERANCE_US, den, period).whole);
  const tolerance = mulDiv(burst, period, den);
  // Rules with the same tolerance and the same denominator can read each other's state unchanged.
  const fraction = den === 1 ? '' : `.${tolerance.rest.toString(36)}.${den.toString(36)}`;
  return {
    machine: 'bucket',
    code: `b${tolerance.whole.toString(36)}${fraction}`,
    limit,
    windowUs,
    burst,
    den,
    period,
    tolUs: tolerance.whole,
    tolNum: tolerance.rest,
  };
}

/**
 * Makes the rule of a limit on requests in progress: `limit` from 1 to 10^9, `leaseUs` from 1 s to 24 hours. `reserve`,
 * 0 to 1, counted in millionths, is the share of the limit that only critical holders may use: others pass while fewer
 * than (1 - reserve) x limit of them are in progress.
 */
export function makeLeasesRule(limit: number, leaseUs: number, reserve = 0): LeasesRule {
  // Calculated in millionths, so that (1 - 0.7) x 10 is 3 and not a little more.
  const open = Math.ceil((limit * (1_000_000 - Math.round(reserve * 1_000_000))) / 1_000_000);
  return { machine: 'leases', code: 'p', limit, open, leaseUs };
}

/**
 * The rule for a share of the limit. A rate keeps its limit, and its window grows to window / share, rounded up: 5 per
 * minute at a share of 1/8 becomes 5 per 8 minutes, so that eight processes together admit no more than the limit.
 * Permits become limit x share, rounded down, but at least one.
 */
export function shareOf(rule: Rule, share: number): Rule {
  if (share === 1) return rule;
  if (rule.machine === 'leases') {
    const part = (permits: number) => Math.max(1, Math.floor(permits * share));
    return { ...rule, limit: part(rule.limit), open: Math.min(rule.open, part(rule.open)) };
  }
  const windowUs = Math.ceil(rule.windowUs / share);
  switch (rule.machine) {
    case 'bucket':
      return makeBucketRule(rule.limit, windowUs, rule.burst);
    case 'window':
      return makeWindowRule(rule.limit, windowUs, rule.sliding);
    case 'log':
      return makeLogRule(rule.limit, windowUs);
  }
}

/**
 * The code that names the count of a rule, together with limiter and key. Rules of one limiter share a count only if
 * each can read the other's state unchanged: buckets with the same tolerance in time and the same denominator, windows
 * and logs with the same window, and all permits.
 */
export function countOf({ rule }: { readonly rule: Rule }): string {
  return rule.code;
}

/** Whether two rules have all the same numbers. Then they also have the same count. */
export function sameRule(a: Rule, b: Rule): boolean {
  if (a.machine !== b.machine || a.limit !== b.limit || a.code !== b.code) return false;
  switch (a.machine) {
    case 'bucket': {
      const { windowUs, burst, tolUs, tolNum } = b as BucketRule;
      const isSameRate = a.windowUs === windowUs && a.burst === burst;
      return isSameRate && a.tolUs === tolUs && a.tolNum === tolNum;
    }
    case 'window': {
      const { windowUs, sliding } = b as WindowRule;
      return a.windowUs === windowUs && a.sliding === sliding;
    }
    case 'log':
      return a.windowUs === (b as LogRule).windowUs;
    case 'leases': {
      const { open, leaseUs } = b as LeasesRule;
      return a.open === open && a.leaseUs === leaseUs;
    }
  }
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}
