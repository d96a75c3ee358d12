/** The receipt of a grant: what a later `put` needs to give the grant back, and how much that is. */

import type { Answer, Receipt } from '../contract/answer.js';
import type { Rule } from '../contract/rule.js';

/** Stands in `atUs` if the store has charged nothing. */
const NOTHING = -1;

/**
 * Makes the receipt of a grant of `units` from the store's answer. If the stand-in charged too, its receipt is inside.
 */
export function receiptFrom(rule: Rule, answer: Answer, units: number): Receipt {
  const { standIn, failure } = answer;
  if (failure) return { atUs: NOTHING, num: 0, units, ...(standIn && { standIn }) };
  const receipt = rule.logic.receipt(answer, units);
  return standIn ? { ...receipt, standIn } : receipt;
}

/**
 * The units that a `put` of `cost` gives back: at most those that were granted. A receipt of an older release does not
 * tell them; its `put` gives back the whole cost. What is no number of units gives back nothing: it would spoil the
 * count.
 */
export function givenBack(cost: number, receipt: Receipt): number {
  const units = Math.min(cost, receipt.units ?? cost);
  return Number.isSafeInteger(units) && units > 0 ? units : 0;
}
