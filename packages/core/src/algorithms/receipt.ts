/** The receipt of a grant: what a later `put` needs to give the grant back. */

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
