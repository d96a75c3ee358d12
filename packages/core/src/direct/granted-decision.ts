import { isOver } from '../algorithms/decide.js';
import type { Decision, Numbers, Outcome, Policy, Reason } from '../contract/decision.js';
import type { Grant } from '../contract/metered-cost.js';
import type { Answer } from '../contract/rule.js';
import type { Step, Store } from '../contract/store.js';

/**
 * A decision that privately keeps the data needed to refund it. Each charged `consume` creates one, so it must be
 * cheap. Therefore `declare` avoids initializing properties twice, and no slow `Object.assign` sets them.
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
  declare readonly over?: true;
  /** The charged step; undefined once it was refunded or settled. */
  #step: Step | undefined;
  readonly #answer: Answer;
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
    if (isOver(step.rule, numbers.used)) this.over = true;
    this.#step = step;
    this.#answer = answer;
    this.#store = store;
  }

  /** A second call returns undefined, so a charge is refunded or settled only once. */
  static takeGrant(decision: Decision, store: Store, limiter: string): Grant | undefined {
    if (!(#step in decision)) return undefined;
    const step = decision.#step;
    if (step?.limiter !== limiter || decision.#store !== store) return undefined;
    decision.#step = undefined;
    return { step, answer: decision.#answer };
  }
}
