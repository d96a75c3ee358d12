/** Calculates the numbers of a decision from a store's answer. No other file does, so all stores agree. */

import type { Answer } from '../contract/answer.js';
import type { Numbers } from '../contract/decision.js';
import type { Rule } from '../contract/rule.js';

/** `used`, `remaining`, `retryAfterMs` and `resetMs` for a store's answer to a step of `cost` units under `rule`. */
export function measure(rule: Rule, answer: Answer, cost: number): Numbers {
  return rule.logic.measure(rule, answer, cost);
}
