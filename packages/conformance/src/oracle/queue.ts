/**
 * The oracle's queue of a shaper. The state says when the bucket is full again, how far ahead of now this may be, and
 * when a pause ends.
 */

import type { QueueRule } from '@spillway/core/store';
import { debt, denominator, refill, tolerance, unit } from './bucket.js';
import { Fraction, greater, lesser, ZERO } from './fraction.js';
import { larger, type Machine, smaller } from './machine.js';

interface QueueState {
  /** When the bucket is full again, in microseconds since the epoch. */
  readonly tat: Fraction;
  /** The denominator of the rule that set `tat`. */
  readonly den: bigint;
  /**
   * How many microseconds `tat` may be ahead of now; during a pause, ahead of the end of the pause. Each charge and
   * each hold raises it to what its rule allows, unless it is larger already.
   */
  readonly span: bigint;
  readonly pause: bigint;
}

const DAY_US = 86_400_000_000n;

function span(rule: QueueRule): bigint {
  return tolerance(rule).plus(Fraction.of(rule.waitUs)).ceil();
}

function reach(rule: QueueRule): Fraction {
  return tolerance(rule).plus(Fraction.of(rule.waitUs));
}

/**
 * The least `tat` of a paused key. It leaves room for only one unit when the pause ends, so that units start one by
 * one.
 */
function afterPause(rule: QueueRule, pause: bigint): Fraction {
  return Fraction.of(pause).plus(tolerance(rule).minus(unit(rule)));
}

function isUnused(state: QueueState, now: bigint): boolean {
  return state.tat.atMost(Fraction.of(now)) && state.pause <= now;
}

/** Converts a state to a rule's denominator. If the denominator changes, `tat` is rounded up to a whole microsecond. */
function readBy(rule: QueueRule, state: QueueState): QueueState {
  const den = denominator(rule);
  return state.den === den ? state : { ...state, den, tat: Fraction.of(state.tat.ceil()) };
}

function cut(state: QueueState, now: bigint): QueueState {
  const pause = smaller(state.pause, now + DAY_US);
  const latest = Fraction.of(larger(now, pause) + state.span);
  return { ...state, pause, tat: lesser(state.tat, latest) };
}

function raised(rule: QueueRule, state: QueueState, now: bigint): QueueState {
  if (state.pause <= now) return state;
  return { ...state, tat: greater(state.tat, afterPause(rule, state.pause)) };
}

function charged(rule: QueueRule, view: QueueState, tat: Fraction): QueueState {
  return { ...view, tat, span: larger(view.span, span(rule)) };
}

export const queueMachine: Machine<QueueRule, QueueState> = {
  shareCount: () => true,

  view(rule, state, now) {
    if (state && !isUnused(state, now)) return raised(rule, cut(readBy(rule, state), now), now);
    return { tat: Fraction.of(now), den: denominator(rule), span: 0n, pause: 0n };
  },

  impossible(rule, state, now) {
    if (isUnused(state, now)) return false;
    const read = readBy(rule, state);
    const able = cut(read, now);
    return able.pause < read.pause || !read.tat.atMost(able.tat);
  },

  passes(rule, view, now, cost) {
    const after = view.tat.plus(refill(rule, cost));
    return cost <= BigInt(rule.burst) && after.atMost(Fraction.of(now).plus(reach(rule)));
  },

  start(rule, view, now, cost) {
    if (cost > BigInt(rule.burst)) return undefined;
    const start = view.tat.plus(refill(rule, cost)).minus(tolerance(rule));
    return larger(start.ceil(), now);
  },

  from(_rule, view, start) {
    return { ...view, tat: greater(view.tat, Fraction.of(start)) };
  },

  charge(rule, view, _now, cost) {
    return charged(rule, view, view.tat.plus(refill(rule, cost)));
  },

  record(rule, view, now, cost) {
    const after = lesser(view.tat.plus(refill(rule, cost)), Fraction.of(now).plus(reach(rule)));
    return charged(rule, view, greater(view.tat, after));
  },

  put(rule, view, now, cost, receipt) {
    if (!receipt) return undefined;
    const after = Fraction.of(receipt.atUs).plus(Fraction.of(receipt.num, denominator(rule)));
    const isTail = after.atMost(view.tat) && view.tat.atMost(after);
    if (!isTail || view.tat.atMost(Fraction.of(now))) return undefined;
    const tat = greater(view.tat.minus(refill(rule, cost)), Fraction.of(now));
    return raised(rule, { ...view, tat }, now);
  },

  hold(rule, view, now, holdUs) {
    const pause = larger(view.pause, now + smaller(holdUs, DAY_US));
    return charged(rule, { ...view, pause }, greater(view.tat, afterPause(rule, pause)));
  },

  numbers(rule, view, now, cost) {
    const owed = debt(view, now);
    const room = tolerance(rule).minus(owed);
    const missing = refill(rule, cost).minus(room);
    const retry = cost === 0n ? 0n : missing.minus(Fraction.of(rule.waitUs)).ceil();
    return {
      used: owed.over(unit(rule)).ceil(),
      remaining: larger(room.over(unit(rule)).floor(), 0n),
      retryUs: cost > BigInt(rule.burst) ? null : larger(retry, 0n),
      resetUs: owed.ceil(),
      delayUs: greater(owed.minus(tolerance(rule)), ZERO).ceil(),
    };
  },

  answer(rule, view, nowUs) {
    const tatUs = view.tat.floor();
    const rest = view.tat.minus(Fraction.of(tatUs)).times(Fraction.of(denominator(rule)));
    const pausedUntilUs = view.pause > BigInt(nowUs) ? Number(view.pause) : 0;
    return { nowUs, tatUs: Number(tatUs), tatNum: Number(rest.ceil()), pausedUntilUs };
  },

  forgettable(_rule, state, now, earlier) {
    return isUnused(state, now) || (state.pause <= now && state.pause > earlier);
  },
};
