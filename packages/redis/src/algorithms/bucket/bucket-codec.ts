/** Encodes calls and decodes replies of the token bucket. The rest is in bucket.lua and takes.lua. */

import type { Answer, Step } from '@spillway/core';
import { type BucketNumbers, type BucketRule, mulDiv, refillTime } from '@spillway/core/store';
import { type Codec, OPS, type ReplyWords, unitsOf } from '../codec.js';
import lua from './bucket.lua';

/** Larger than any bucket: a refund of more than this has the same effect. */
const MOST_REFILL_US = 2 ** 52;

export const bucket: Codec<BucketRule> = {
  letter: 'g',
  lua: [lua],
  maker: 'bucket',

  encode(rule: BucketRule, step: Step, op: number, args: string[]): void {
    const cost = unitsOf(step);
    const refill = step.op === 'put' ? trueRefillTime(rule, cost) : refillTime(rule, cost);
    args.push(`${refill.us}`, `${rule.tolUs}`, `${rule.den}`);
    if (rule.den > 1) args.push(`${refill.num}`, `${rule.tolNum}`);
    if (op === OPS.put) args.push(`${step.receipt?.atUs ?? 0}`, `${step.receipt?.num ?? 0}`);
  },

  decodeAnswer({ den }: BucketRule, allowed: boolean, state: number, reply: ReplyWords): Answer {
    const { nowUs } = reply;
    const num = den > 1 ? reply.count() : 0;
    const tatUs = state === 0 ? 0 : nowUs + state - 1;
    return { allowed, nowUs, tatUs, tatNum: state === 0 ? 0 : num };
  },
};

/**
 * Like {@link refillTime}, but also exact for a cost above the burst, which may have been recorded (up to the burst).
 */
export function trueRefillTime(rule: BucketNumbers, cost: number): { us: number; num: number } {
  const { whole, rest } = mulDiv(cost, rule.period, rule.den);
  return whole >= MOST_REFILL_US ? { us: MOST_REFILL_US, num: 0 } : { us: whole, num: rest };
}
