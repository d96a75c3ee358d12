import type { Ask, Receipt } from '../contract/ask.js';
import type { Answer, Rule } from '../contract/rule.js';
import type { Step } from '../contract/store.js';

const UNCHARGED_AT_US = -1;

/**
 * Makes the receipt of a grant of `units` from the store's answer. It includes the receipt of the fallback counters, if
 * they charged. If the store failed, it says that the store charged nothing.
 */
export function receiptFrom(rule: Rule, answer: Answer, units: number): Receipt {
  const { fallbackReceipt, failure } = answer;
  if (failure)
    return { atUs: UNCHARGED_AT_US, num: 0, units, ...(fallbackReceipt && { fallbackReceipt }) };
  const receipt = rule.logic.receipt(answer, units);
  return fallbackReceipt ? { ...receipt, fallbackReceipt } : receipt;
}

/** {@link receiptFrom} for the units that a step has charged. */
export function receiptOfStep(step: Step, answer: Answer): Receipt {
  return receiptFrom(step.rule, answer, unitsOf(step) - (answer.forgiven ?? 0));
}

/** The units that a `take` or `record` charges: its cost and, if the rule has debt, {@link Ask.owed}. */
export function unitsOf({ rule, cost, owed }: Pick<Ask<Rule>, 'rule' | 'cost' | 'owed'>): number {
  if (rule.debt === undefined || !owed) return cost;
  return Math.min(cost + owed, Number.MAX_SAFE_INTEGER);
}

/**
 * After a `put`, returns the receipt of the units that are left of the grant, for another `put`. Undefined if the
 * `put` had no receipt, if the store has no units left, or if fallback counters with a receipt have none left. Call it
 * after the `put` has given back its units.
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
 * const put: Step = { ...take, op: 'put', cost: 3, receipt: receiptFrom(rule, granted!, 8) };
 * store.apply([put]);
 * store.apply([{ ...put, cost: 2, receipt: receiptOfRest(put)! }]);
 * ```
 */
export function receiptOfRest({ rule, cost, receipt, onStoreError }: Step): Receipt | undefined {
  if (!receipt) return undefined;
  const rest = restOf(rule, receipt, cost);
  const { fallbackReceipt } = receipt;
  if (!rest || !fallbackReceipt || typeof onStoreError !== 'object') return rest;
  const fallbackRest = restOf(onStoreError, fallbackReceipt, cost);
  return fallbackRest && { ...rest, fallbackReceipt: fallbackRest };
}

function restOf(rule: Rule, receipt: Receipt, cost: number): Receipt | undefined {
  const given = givenBack(cost, receipt);
  const units = receipt.units - given;
  if (!(units > 0)) return undefined;
  const { atUs, num } = receipt;
  if (atUs === UNCHARGED_AT_US || !rule.logic.rest) return { atUs, num, units };
  return rule.logic.rest(rule, receipt, given);
}

/** Takes what a `put` gives back out of the current window or period. Returns whether that was anything. */
export function refund(
  state: { current: number; dirty: boolean },
  cost: number,
  receipt: Receipt,
): boolean {
  const units = givenBack(cost, receipt);
  if (units === 0 || state.current === 0) return false;
  state.current = Math.max(0, state.current - units);
  state.dirty = true;
  return true;
}

/**
 * The units that a `put` of `cost` gives back: at most those granted. Receipts made by older versions have no units; a
 * `put` with such a receipt gives back the whole cost. An invalid number of units gives back nothing, because it would
 * corrupt the count.
 */
export function givenBack(cost: number, receipt: Receipt): number {
  const units = Math.min(cost, receipt.units ?? cost);
  return Number.isSafeInteger(units) && units > 0 ? units : 0;
}
