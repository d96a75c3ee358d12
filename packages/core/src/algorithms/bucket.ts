/**
 * The token bucket as one instant: pure steps on its state (docs/algorithms.md).
 * Its twin is packages/redis/src/lua/bucket.lua.
 */

import { mulDiv } from '../base/exact.js';
import type { BucketRule } from '../contract/rule.js';
import type { Op, Receipt } from '../contract/store.js';

/** When the bucket is full again: `tatUs + tatNum / rule.den`. Anything before now means full. */
export interface BucketState {
  tatUs: number;
  tatNum: number;
}

/**
 * Does `op` to `state`, in place. `charge` false holds back the charge of a `take` that another step of its group
 * refused. Returns whether the cost passes (for `put`: whether something was given back). What is cut because the clock
 * went
 * back is cut in `state` by every step, and to be kept of those only that {@link mayWrite}.
 */
export function stepBucket(
  rule: BucketRule,
  state: BucketState,
  op: Op,
  cost: number,
  nowUs: number,
  charge: boolean,
  receipt?: Receipt,
): boolean {
  if (op === 'put') return putBucket(rule, state, cost, nowUs, receipt);
  if (op === 'reset') {
    state.tatUs = 0;
    state.tatNum = 0;
    return true;
  }
  clamp(rule, state, nowUs);
  if (cost === 0) return true;

  const full = state.tatUs < nowUs;
  let us = full ? nowUs : state.tatUs;
  let num = full ? 0 : state.tatNum;
  const { den } = rule;
  if (cost > rule.burst) {
    us = nowUs + rule.tolUs + 1; // one over the brim: never passes, and nothing overflows
  } else if (den === 1) {
    us += cost * rule.period;
  } else {
    const refill = mulDiv(cost, rule.period, den);
    us += refill.whole;
    num += refill.rest;
    if (num >= den) {
      us += 1;
      num -= den;
    }
  }

  const brimUs = nowUs + rule.tolUs;
  const passes = us < brimUs || (us === brimUs && num <= rule.tolNum);
  if (op === 'record' && !passes) {
    state.tatUs = brimUs;
    state.tatNum = rule.tolNum;
  } else if (op === 'record' || (op === 'take' && passes && charge)) {
    state.tatUs = us;
    state.tatNum = num;
  }
  return passes;
}

/**
 * Whether a step that ended with `allowed` may change what is stored: looks, costs of 0 and puts that give nothing back
 * may not.
 */
export function mayWrite(op: Op, cost: number, allowed: boolean): boolean {
  return op === 'reset' || (cost > 0 && op !== 'look' && (op !== 'put' || allowed));
}

/** Cuts a debt that the rule cannot have: the clock went back. */
function clamp(rule: BucketRule, state: BucketState, nowUs: number): void {
  const brimUs = nowUs + rule.tolUs;
  if (state.tatUs > brimUs || (state.tatUs === brimUs && state.tatNum > rule.tolNum)) {
    state.tatUs = brimUs;
    state.tatNum = rule.tolNum;
  }
}

/**
 * Gives back the cost of a grant, but no more than has not refilled since: the bucket may have been full in between,
 * and a full bucket does not refill.
 */
function putBucket(
  rule: BucketRule,
  state: BucketState,
  cost: number,
  nowUs: number,
  receipt: Receipt | undefined,
): boolean {
  clamp(rule, state, nowUs);
  if (receipt === undefined || cost === 0 || state.tatUs < nowUs) return false;
  const refill = mulDiv(cost, rule.period, rule.den);
  let giveUs = refill.whole;
  let giveNum = refill.rest;
  const leftUs = receipt.atUs - nowUs;
  if (leftUs < giveUs || (leftUs === giveUs && receipt.num < giveNum)) {
    giveUs = leftUs;
    giveNum = receipt.num;
  }
  if (giveUs < 0 || (giveUs === 0 && giveNum === 0)) return false;
  if (state.tatUs === nowUs && state.tatNum === 0) return false;
  state.tatUs -= giveUs;
  state.tatNum -= giveNum;
  if (state.tatNum < 0) {
    state.tatUs -= 1;
    state.tatNum += rule.den;
  }
  if (state.tatUs < nowUs || (state.tatUs === nowUs && state.tatNum === 0)) {
    // As if never used, whatever the clock does next.
    state.tatUs = 0;
    state.tatNum = 0;
  }
  return true;
}
