import { mulDiv } from '../../base/exact.js';
import type { Ask } from '../../contract/ask.js';
import type { BucketRule } from '../../contract/rule.js';
import { unitsOf } from '../receipt.js';
import { unitsRefilled } from './bucket-rule.js';
import type { BucketState } from './bucket-step.js';

/**
 * Charges a bucket for a `record`, or for a `take` that passes. Units beyond burst and debt are not charged. A store
 * that receives only the numbers of a rule with debt must add this function to the rule's `logic`.
 *
 * @param nowUs the store's clock
 * @example
 * ```ts run
 * import { chargeDebt, makeRule, type Rule } from '@spillway/core/store';
 *
 * const { logic, ...numbers } = makeRule('token-bucket', 10, 1_000_000);
 * const deepest = { tolUs: 2_000_000, tolNum: 0 };
 * const rule = { ...numbers, debt: 10, deepest, logic: { ...logic, chargeDebt } } as Rule;
 * rule.logic.chargeDebt === chargeDebt; // true
 * ```
 */
export function chargeDebt(ask: Ask<BucketRule>, state: BucketState, nowUs: number): void {
  const { rule } = ask;
  const { tolUs, tolNum } = rule.deepest ?? rule;
  const isFull = state.tatUs < nowUs;
  const us = isFull ? nowUs : state.tatUs;
  const num = isFull ? 0 : state.tatNum;
  const units = unitsOf(ask);
  const room = unitsRefilled(rule, nowUs + tolUs - us, tolNum - num);
  if (units > room) {
    state.tatUs = nowUs + tolUs;
    state.tatNum = tolNum;
    state.forgiven = units - room;
    return;
  }
  const { whole, rest } = mulDiv(units, rule.period, rule.den);
  const sum = num + rest;
  const carry = sum >= rule.den ? 1 : 0;
  state.tatUs = us + whole + carry;
  state.tatNum = sum - carry * rule.den;
}
