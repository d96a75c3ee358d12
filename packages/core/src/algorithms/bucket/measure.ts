/** The numbers of a decision about a bucket. */

import { mulAddDiv, mulDiv } from '../../base/exact.js';
import type { BucketAnswer } from '../../contract/ask.js';
import type { Numbers } from '../../contract/decision.js';
import type { BucketNumbers, BucketRule } from '../../contract/rule.js';

export function measureBucket(rule: BucketRule, answer: BucketAnswer, cost: number): Numbers {
  return rule.den === 1 && cost <= rule.burst
    ? measureWhole(rule, answer, cost)
    : measureParts(rule, answer, cost, 0);
}

/** The time that `cost` units take to refill, as whole microseconds and a numerator over `rule.den`. */
export function refillTime(rule: BucketNumbers, cost: number): { us: number; num: number } {
  // A cost above the burst never passes. One microsecond more than the tolerance says so without large numbers.
  if (cost > rule.burst) return { us: rule.tolUs + 1, num: 0 };
  const { whole, rest } = mulDiv(cost, rule.period, rule.den);
  return { us: whole, num: rest };
}

/** Of a bucket of any numbers. `waitUs`: how much longer its units may be waited for than until they have refilled. */
export function measureParts(
  rule: BucketNumbers,
  answer: BucketAnswer,
  cost: number,
  waitUs: number,
): Numbers {
  const { den } = rule;
  const full = answer.tatUs < answer.nowUs;
  const debtUs = full ? 0 : answer.tatUs - answer.nowUs;
  const debtNum = full ? 0 : answer.tatNum;

  let roomUs = rule.tolUs - debtUs;
  let roomNum = rule.tolNum - debtNum;
  if (roomNum < 0) {
    roomUs -= 1;
    roomNum += den;
  }
  const remaining = roomUs < 0 ? 0 : mulAddDiv(roomUs, den, roomNum, rule.period);
  return {
    // Exact: the tolerance is `burst` times the refill time of a unit.
    used: rule.burst - remaining,
    remaining,
    retryAfterMs:
      cost > rule.burst ? Infinity : waitForRefill(rule, cost, roomUs + waitUs, roomNum) / 1000,
    resetMs: (debtUs + (debtNum > 0 ? 1 : 0)) / 1000,
  };
}

/** {@link measureParts} where a unit refills in whole microseconds: nearly always, and short enough to be inlined. */
function measureWhole(rule: BucketRule, answer: BucketAnswer, cost: number): Numbers {
  const { period } = rule;
  const debtUs = Math.max(0, answer.tatUs - answer.nowUs);
  const roomUs = rule.tolUs - debtUs;
  const waitUs = cost * period - roomUs;
  const remaining = roomUs < 0 ? 0 : Math.floor(roomUs / period);
  return {
    used: rule.burst - remaining,
    remaining,
    retryAfterMs: waitUs > 0 ? waitUs / 1000 : 0,
    resetMs: debtUs / 1000,
  };
}

/** Microseconds, rounded up, until the room in the bucket is as large as the refill time of `cost`. */
function waitForRefill(rule: BucketNumbers, cost: number, roomUs: number, roomNum: number): number {
  const refill = refillTime(rule, cost);
  const us = refill.us - roomUs;
  const num = refill.num - roomNum;
  return Math.max(0, num > 0 ? us + 1 : us);
}
