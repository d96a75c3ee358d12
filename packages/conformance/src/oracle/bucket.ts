/** The oracle's token bucket. Its state is one exact instant: when the bucket is full again. */

import type { BucketRule, QueueRule } from '@spillway/core/store';
import { Fraction, gcd, greater, lesser, ZERO } from './fraction.js';
import { larger, type Machine } from './machine.js';

type Numbers = BucketRule | QueueRule;

interface BucketState {
  /** When the bucket is full again, in microseconds since the epoch. */
  readonly tat: Fraction;
}

/** T: microseconds in which one unit refills. */
export function unit(rule: Numbers): Fraction {
  return Fraction.of(rule.windowUs, rule.limit);
}

/** How long an empty bucket takes to refill: the burst, multiplied by the refill time of one unit. */
export function tolerance(rule: Numbers): Fraction {
  return unit(rule).times(Fraction.of(rule.burst));
}

/** How long a bucket takes to refill if its burst and its debt are used up. `tat` is at most this far ahead of now. */
function deepest(rule: Numbers): Fraction {
  if (rule.machine === 'queue' || !rule.deepest) return tolerance(rule);
  const { tolUs, tolNum } = rule.deepest;
  return Fraction.of(tolUs).plus(Fraction.of(tolNum, denominator(rule)));
}

export function debt(view: BucketState, now: bigint): Fraction {
  return greater(view.tat.minus(Fraction.of(now)), ZERO);
}

export function refill(rule: Numbers, cost: bigint): Fraction {
  return unit(rule).times(Fraction.of(cost));
}

/** The denominator of the fractions in stores: limit / gcd(limit, window). */
export function denominator(rule: Numbers): bigint {
  const limit = BigInt(rule.limit);
  return limit / gcd(limit, BigInt(rule.windowUs));
}

export const bucketMachine: Machine<BucketRule, BucketState> = {
  shareCount(a, b) {
    const sameDepth = deepest(a).atMost(deepest(b)) && deepest(b).atMost(deepest(a));
    return sameDepth && denominator(a) === denominator(b);
  },

  view(rule, state, now) {
    if (!state) return { tat: Fraction.of(now) };
    return { tat: lesser(state.tat, Fraction.of(now).plus(deepest(rule))) };
  },

  impossible(rule, state, now) {
    return !state.tat.minus(Fraction.of(now)).atMost(deepest(rule));
  },

  passes(rule, view, now, cost) {
    return debt(view, now).plus(refill(rule, cost)).atMost(tolerance(rule));
  },

  charge(rule, view, now, cost) {
    return { tat: greater(view.tat, Fraction.of(now)).plus(refill(rule, cost)) };
  },

  record(rule, view, now, cost) {
    const charged = greater(view.tat, Fraction.of(now)).plus(refill(rule, cost));
    return { tat: lesser(charged, Fraction.of(now).plus(deepest(rule))) };
  },

  forgiven(rule, view, after, now, units) {
    const charged = after.tat.minus(greater(view.tat, Fraction.of(now)));
    return refill(rule, units).minus(charged).over(unit(rule)).ceil();
  },

  put(rule, view, now, cost, receipt) {
    if (!receipt) return undefined;
    const after = Fraction.of(receipt.atUs).plus(Fraction.of(receipt.num, denominator(rule)));
    const given = lesser(refill(rule, cost), after.minus(Fraction.of(now)));
    const full = view.tat.atMost(Fraction.of(now));
    return given.atMost(ZERO) || full ? undefined : { tat: view.tat.minus(given) };
  },

  numbers(rule, view, now, cost) {
    const owed = debt(view, now);
    const room = tolerance(rule).minus(owed);
    let retryUs: bigint | null = null;
    if (cost === 0n) retryUs = 0n;
    else if (cost <= BigInt(rule.burst))
      retryUs = larger(refill(rule, cost).minus(room).ceil(), 0n);
    return {
      used: owed.over(unit(rule)).ceil(),
      remaining: larger(room.over(unit(rule)).floor(), 0n),
      retryUs,
      resetUs: owed.ceil(),
    };
  },

  answer(rule, view, nowUs) {
    const tatUs = view.tat.floor();
    const rest = view.tat.minus(Fraction.of(tatUs)).times(Fraction.of(denominator(rule)));
    return { nowUs, tatUs: Number(tatUs), tatNum: Number(rest.ceil()) };
  },

  forgettable(_rule, state, now) {
    return state.tat.atMost(Fraction.of(now));
  },
};
