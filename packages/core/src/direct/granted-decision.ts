/** A decision that remembers, where nobody sees it, how to give back what it charged. */

import { receiptFrom } from '../algorithms/receipt.js';
import type { Decision, Outcome, Policy, Reason } from '../contract/decision.js';
import type { Answer, Step } from '../contract/store.js';

/** Fields by name, not `Object.assign`, and a private one for the grant: this is made for every request that passes. */
export class GrantedDecision implements Decision {
  readonly limiter: string;
  readonly allowed: boolean;
  readonly outcome: Outcome;
  readonly reason: Reason | null;
  readonly cost: number;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly resetMs: number;
  readonly policy?: Policy;
  readonly #step: Step;
  readonly #answer: Answer;
  #spent = false;

  constructor(decision: Decision, step: Step, answer: Answer) {
    this.limiter = decision.limiter;
    this.allowed = decision.allowed;
    this.outcome = decision.outcome;
    this.reason = decision.reason;
    this.cost = decision.cost;
    this.remaining = decision.remaining;
    this.retryAfterMs = decision.retryAfterMs;
    this.resetMs = decision.resetMs;
    if (decision.policy) this.policy = decision.policy;
    this.#step = step;
    this.#answer = answer;
  }

  /**
   * The step that gives back what was counted as `limiter`; undefined if it charged nothing, or was given back before.
   */
  static giveBack(decision: Decision, limiter: string): Step | undefined {
    if (!(#spent in decision) || decision.#spent) return undefined;
    const step = decision.#step;
    if (step.limiter !== limiter) return undefined;
    decision.#spent = true;
    return { ...step, op: 'put', receipt: receiptFrom(step.rule, decision.#answer) };
  }
}
