/** A decision that remembers, where nobody sees it, how to give back what it charged. */

import { receiptFrom } from '../algorithms/receipt.js';
import type { Answer } from '../contract/ask.js';
import type { Decision, Numbers, Outcome, Policy, Reason } from '../contract/decision.js';
import type { Step, Store } from '../contract/store.js';

/**
 * Made for every request that passes, so fields are set by name, not by `Object.assign`, and only once: `declare` keeps
 * the compiler from setting each to undefined before. What is needed to give back is private.
 */
export class GrantedDecision implements Decision {
  declare readonly limiter: string;
  declare readonly allowed: boolean;
  declare readonly outcome: Outcome;
  declare readonly reason: Reason | null;
  declare readonly cost: number;
  declare readonly used: number;
  declare readonly remaining: number;
  declare readonly retryAfterMs: number;
  declare readonly resetMs: number;
  declare readonly policy: Policy;
  /** What was charged; undefined once it was given back. */
  #step: Step | undefined;
  readonly #answer: Answer;
  /** Where it was charged. */
  readonly #store: Store;

  constructor(
    outcome: Outcome,
    numbers: Numbers,
    policy: Policy,
    step: Step,
    answer: Answer,
    store: Store,
  ) {
    this.limiter = policy.name;
    this.allowed = true;
    this.outcome = outcome;
    this.reason = null;
    this.cost = step.cost;
    this.used = numbers.used;
    this.remaining = numbers.remaining;
    this.retryAfterMs = numbers.retryAfterMs;
    this.resetMs = numbers.resetMs;
    this.policy = policy;
    this.#step = step;
    this.#answer = answer;
    this.#store = store;
  }

  /**
   * The step that gives back what was counted in `store` as `limiter`, or at most `cost` units of it; undefined if it
   * charged nothing there, or was given back before.
   */
  static giveBack(
    decision: Decision,
    store: Store,
    limiter: string,
    cost?: number,
  ): Step | undefined {
    if (!(#step in decision)) return undefined;
    const granted = decision.#step;
    if (granted?.limiter !== limiter || decision.#store !== store) return undefined;
    decision.#step = undefined;
    const receipt = receiptFrom(granted.rule, decision.#answer, granted.cost);
    return { ...granted, op: 'put', cost: Math.min(cost ?? Infinity, granted.cost), receipt };
  }
}
