import {
  type BucketNumbers,
  mulDiv,
  refillTime,
  unitsOf as unitsCharged,
  unitsRefilled,
} from '@spillway/core/store';
import { type CodecOf, OPS, unitsOf } from '../codec.js';
import lua from './bucket.lua';

/**
 * Longer refill times are lowered to this one. That changes no decision, because every bucket fills in less time than
 * this, even from its deepest debt.
 */
const MOST_REFILL_US = 2 ** 52;

export const bucket: CodecOf<'bucket'> = {
  letter: 'g',
  debtLetter: 'o',
  lua: [lua],
  maker: 'bucket',

  encode(rule, step, op, args) {
    const cost = unitsOf(step);
    const refill = step.op === 'put' ? trueRefillTime(rule, cost) : refillTime(rule, cost);
    args.push(`${refill.us}`, `${rule.tolUs}`, `${rule.den}`);
    if (rule.den > 1) args.push(`${refill.num}`, `${rule.tolNum}`);
    if (op === OPS.put) args.push(`${step.receipt?.atUs ?? 0}`, `${step.receipt?.num ?? 0}`);
    const { deepest } = rule;
    if (deepest) {
      const all = trueRefillTime(rule, unitsCharged(step));
      args.push(`${all.us}`, `${deepest.tolUs}`);
      if (rule.den > 1) args.push(`${all.num}`, `${deepest.tolNum}`);
    }
  },

  decodeAnswer(rule, allowed, state, reply, step) {
    const { nowUs } = reply;
    const num = rule.den > 1 ? reply.count() : 0;
    const tatUs = state === 0 ? 0 : nowUs + state - 1;
    const answer = { allowed, nowUs, tatUs, tatNum: state === 0 ? 0 : num };
    if (!rule.deepest) return answer;
    const room = reply.count();
    const roomNum = rule.den > 1 ? reply.number() : 0;
    if (room === 0) return answer;
    return { ...answer, forgiven: unitsCharged(step) - unitsRefilled(rule, room - 1, roomNum) };
  },
};

/**
 * The time that `cost` units take to refill. Unlike {@link refillTime}, it is exact for a cost above the burst. With
 * debt, and in a queue, such a cost can be charged and refunded.
 */
export function trueRefillTime(rule: BucketNumbers, cost: number): { us: number; num: number } {
  const { whole, rest } = mulDiv(cost, rule.period, rule.den);
  return whole >= MOST_REFILL_US ? { us: MOST_REFILL_US, num: 0 } : { us: whole, num: rest };
}
