/** The receipt of a grant: what a later `put` needs to give the grant back, and how much that is. */

import type { Answer, Receipt } from '../contract/ask.js';
import type { Rule } from '../contract/rule.js';
import type { Step } from '../contract/store.js';

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
 * The receipt of what a `put` has left of its grant, for another `put`; undefined if it has left nothing. To be called
 * when the `put` has given back. What a `put` of no receipt leaves, nobody knows.
 *
 * @example
 * ```ts run
 * import { memoryStore } from '@spillway/core';
 * import { makeRule, receiptFrom, receiptOfRest, type Step } from '@spillway/core/store';
 *
 * const store = memoryStore();
 * const rule = makeRule('token-bucket', 10, 60_000_000);
 * const take: Step = { op: 'take', limiter: 'tokens', key: 'ada', rule, cost: 8, binding: true };
 * const [granted] = store.apply([take]);
 *
 * // 8 were taken; 3 are given back, and 2 of the 5 that are left.
 * const put: Step = { ...take, op: 'put', cost: 3, receipt: receiptFrom(rule, granted!, 8) };
 * store.apply([put]);
 * store.apply([{ ...put, cost: 2, receipt: receiptOfRest(put)! }]);
 * ```
 */
export function receiptOfRest({ rule, cost, receipt, onStoreError }: Step): Receipt | undefined {
  if (!receipt) return undefined;
  const rest = restOf(rule, receipt, cost);
  const { standIn } = receipt;
  if (!rest || !standIn || typeof onStoreError !== 'object') return rest;
  const ofStandIn = restOf(onStoreError, standIn, cost);
  return ofStandIn && { ...rest, standIn: ofStandIn };
}

function restOf(rule: Rule, receipt: Receipt, cost: number): Receipt | undefined {
  const given = givenBack(cost, receipt);
  const units = receipt.units - given;
  if (!(units > 0)) return undefined;
  const { atUs, num } = receipt;
  if (atUs === NOTHING || !rule.logic.rest) return { atUs, num, units };
  return rule.logic.rest(rule, receipt, given);
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
