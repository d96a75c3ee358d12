/** A rule as data: validated integers that any store, in any language, can run. */

import { mulDiv } from '../base/exact.js';

interface RuleBase {
  /**
   * What, beside the limiter's name and the key, names the count of this rule: see {@link countOf}. Made with the rule.
   */
  readonly code: string;
}

/**
 * The token bucket, kept as one instant (the generic cell rate algorithm, ITU-T I.371): the moment
 * at which the bucket will be full again. One unit takes `windowUs / limit` microseconds to refill;
 * that fraction is held exactly, as `unitUs + unitNum / den`.
 */
export interface BucketRule extends RuleBase {
  readonly machine: 'bucket';
  /** Units refilled per window, 1 to 10^9. */
  readonly limit: number;
  /** Window in microseconds. */
  readonly windowUs: number;
  /** Units at once: the capacity of the bucket. Lower than declared only where the tolerance would pass 2^51 us. */
  readonly burst: number;
  /** Denominator of every fraction of a microsecond in this rule: limit / gcd(limit, windowUs). */
  readonly den: number;
  /** Microseconds per `den` units: windowUs / gcd(limit, windowUs). */
  readonly period: number;
  /** Whole microseconds of the tolerance, burst x window / limit. */
  readonly tolUs: number;
  /** Numerator (over `den`) of the rest of the tolerance. */
  readonly tolNum: number;
}

/**
 * A counter per window aligned to the epoch; with `sliding`, the previous window counts for the share of it still in
 * view.
 */
export interface WindowRule extends RuleBase {
  readonly machine: 'window';
  readonly limit: number;
  readonly windowUs: number;
  readonly sliding: boolean;
}

/** Every admitted request with its time: exact over any interval, at the price of an entry for each. */
export interface LogRule extends RuleBase {
  readonly machine: 'log';
  readonly limit: number;
  readonly windowUs: number;
}

/**
 * Permits for what is in progress, each held under a lease that expires unless it is renewed: at most `limit` at once,
 * and
 * of those at most `open` for holders that are not critical.
 */
export interface LeasesRule extends RuleBase {
  readonly machine: 'leases';
  /** Permits at once, 1 to 10^9. Critical holders are never refused and may pass it. */
  readonly limit: number;
  /** Permits at once for holders that are not critical, 0 to `limit`. */
  readonly open: number;
  /** Length of a lease in microseconds. */
  readonly leaseUs: number;
}

/** A rule about how much may be done over time. */
export type RateRule = BucketRule | WindowRule | LogRule;

export type Rule = RateRule | LeasesRule;

/** The names of the algorithms as users write them. */
export type Algorithm =
  | 'token-bucket'
  | 'fixed-window'
  | 'sliding-window-log'
  | 'sliding-window-counter';

/** The longest time a bucket may take to fill: 2^51 us, 71 years. Keeps every instant of a rule below 2^53. */
const MAX_TOLERANCE_US: number = 2 ** 51;

/** The longest lease: 24 hours. What is held for longer was taken by a clock that went back since. */
export const MAX_LEASE_US: number = 86_400_000_000;

/** The most units that the rule can ever admit at once. A higher cost can never pass. */
export function capacityOf(rule: Rule): number {
  return rule.machine === 'bucket' ? rule.burst : rule.limit;
}

/**
 * Makes the rule of an algorithm from numbers that are already validated: integers, `limit` and
 * `burst` from 1 to 10^9, `windowUs` from 1,000 to 400 days.
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
  // Rounded once, here, and downwards: a smaller burst never admits more.
  const burst = Math.min(declaredBurst, mulDiv(MAX_TOLERANCE_US, den, period).whole);
  const tolerance = mulDiv(burst, period, den);
  // Rules of one tolerance and one denominator read each other's state as it is.
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
 * Makes the rule of a limit on what is in progress: `limit` from 1 to 10^9, `leaseUs` from 1 s to 24 hours. `reserve`,
 * from 0
 * to 1 and counted in millionths, is the share of the limit that only critical holders may use: others pass while fewer
 * than
 * (1 - reserve) x limit of them are in progress.
 */
export function makeLeasesRule(limit: number, leaseUs: number, reserve = 0): LeasesRule {
  // In millionths, so that (1 - 0.7) x 10 is 3 and not a little more.
  const open = Math.ceil((limit * (1_000_000 - Math.round(reserve * 1_000_000))) / 1_000_000);
  return { machine: 'leases', code: 'p', limit, open, leaseUs };
}

/**
 * The same rule for a share of its limit. Of a rate: the window grows by 1 / share, rounded up; 5 per minute at a share
 * of 1/8
 * is 5 per 8 minutes, so that eight processes together admit no more than the limit. Of permits: so many, rounded down,
 * but at least one.
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
 * What, beside limiter and key, names a count. Rules of one limiter share a count only if each can read the other's
 * state as
 * it is: buckets of the same tolerance in time and the same denominator; windows and logs of the same length; all
 * permits.
 */
export function countOf({ rule }: { readonly rule: Rule }): string {
  return rule.code;
}

/** Whether two rules are the same numbers, all of them: then they also name the same count. */
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
