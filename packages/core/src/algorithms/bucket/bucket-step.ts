/** The steps of a token bucket, which is stored as one instant: see docs/algorithms.md. */

import { mulDiv } from '../../base/exact.js';
import type { Ask, BucketAnswer, Receipt } from '../../contract/ask.js';
import type { BucketRule } from '../../contract/rule.js';
import { givenBack } from '../receipt.js';

/**
 * The instant at which the bucket is full again: `tatUs + tatNum / rule.den`. If that is in the past, the bucket is
 * full.
 */
export interface BucketState {
  tatUs: number;
  tatNum: number;
  forgiven: number | undefined;
}

/**
 * Applies `ask` to `state`, in place. Returns whether its cost passes or, for a `put`, whether anything was given back.
 * If `charge` is false, a `take` charges nothing, because another step of its group was rejected. If the clock went
 * back, `state` is corrected first; the caller stores the correction only if {@link mayWrite} returns true.
 *
 * The charge of a bucket is implemented four times. If you change one, change all: this function, takeWhole in
 * bucket-shelf.ts, and bucket.lua and takes.lua in packages/redis/src/algorithms/bucket.
 */
export function stepBucket(
  ask: Ask<BucketRule>,
  state: BucketState,
  nowUs: number,
  charge: boolean,
): boolean {
  const { op, rule, cost, receipt } = ask;
  state.forgiven = undefined;
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
    us = nowUs + rule.tolUs + 1; // a cost above the burst never passes; this avoids an overflow
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

  const latestUs = nowUs + rule.tolUs; // the instant of an empty bucket
  const passes = us < latestUs || (us === latestUs && num <= rule.tolNum);
  const charges = op === 'record' || (op === 'take' && passes && charge);
  if (charges && rule.logic.chargeDebt) {
    rule.logic.chargeDebt(ask, state, nowUs);
  } else if (charges) {
    state.tatUs = passes ? us : latestUs;
    state.tatNum = passes ? num : rule.tolNum;
  }
  return passes;
}

export function bucketAnswer(state: BucketState, nowUs: number, allowed: boolean): BucketAnswer {
  const { tatUs, tatNum, forgiven } = state;
  const answer = { allowed, nowUs, tatUs, tatNum };
  // Without debt, all answers have the same shape, so they are read faster.
  return forgiven ? { ...answer, forgiven } : answer;
}

/**
 * Whether a step may change the stored state. A `reset` may; a `look`, another step of cost 0, and a `put` that gives
 * nothing back may not. `allowed` is the result of {@link stepBucket}.
 */
export function mayWrite({ op, cost }: Ask<BucketRule>, allowed: boolean): boolean {
  return op === 'reset' || (cost > 0 && op !== 'look' && (op !== 'put' || allowed));
}

/**
 * If the clock went back, the bucket may look emptier than burst and debt allow. Then sets it to the emptiest state
 * that they allow.
 */
function clamp(rule: BucketRule, state: BucketState, nowUs: number): void {
  const { tolUs, tolNum } = rule.deepest ?? rule;
  const latestUs = nowUs + tolUs;
  if (state.tatUs > latestUs || (state.tatUs === latestUs && state.tatNum > tolNum)) {
    state.tatUs = latestUs;
    state.tatNum = tolNum;
  }
}

/**
 * Gives back the cost of a grant, except the part that has refilled since. If the bucket was full in between, nothing
 * is given back.
 */
function putBucket(
  rule: BucketRule,
  state: BucketState,
  cost: number,
  nowUs: number,
  receipt: Receipt | undefined,
): boolean {
  clamp(rule, state, nowUs);
  if (receipt === undefined || state.tatUs < nowUs) return false;
  const refill = mulDiv(givenBack(cost, receipt), rule.period, rule.den);
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
    // The state of an unused bucket, which stays full even if the clock goes back.
    state.tatUs = 0;
    state.tatNum = 0;
  }
  return true;
}
