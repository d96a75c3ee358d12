/** One limit without HTTP: from a key to a step, and from the store's answer to a decision. */

import { decide, policyOf } from '../algorithms/decide.js';
import { measure } from '../algorithms/measure.js';
import { checkCost, checkKey, isCost, isKey, isPlainObject } from '../base/checks.js';
import { mustBe } from '../base/errors.js';
import { checkNames, type NamesOf } from '../base/option-names.js';
import type { Answer } from '../contract/answer.js';
import type { LiveLimit } from '../contract/control-link.js';
import type { Decision, Policy } from '../contract/decision.js';
import type { Rule } from '../contract/rule.js';
import type { Op, Step, Store, StoreErrorPolicy } from '../contract/store.js';
import type { StoreClient } from '../stores/store-client.js';
import { GrantedDecision } from './granted-decision.js';
import type { CostOptions } from './options.js';

const COST: NamesOf<CostOptions> = { cost: 1 };

export class Limit {
  readonly name: string;
  readonly rule: Rule;
  /** What stands for this limit in the store. */
  private readonly countedAs: string;
  private readonly store: Store;
  private readonly policy: Policy;
  private readonly onStoreError: StoreErrorPolicy;
  private readonly client: StoreClient;
  private readonly live: LiveLimit | undefined;

  /** @throws SpillwayError `SPW_NAME_CONFLICT` */
  constructor(
    name: string,
    rule: Rule,
    client: StoreClient,
    onStoreError: StoreErrorPolicy,
    live?: LiveLimit,
  ) {
    this.name = name;
    this.rule = rule;
    this.onStoreError = onStoreError;
    this.policy = policyOf(name, rule);
    this.countedAs = client.nameOf(this);
    this.client = client;
    this.store = client.store;
    this.live = live;
    client.claim(this, rule);
  }

  /** @throws SpillwayError `SPW_KEY_INVALID`, `SPW_COST_INVALID` */
  step(op: Op, key: string, cost = 1): Step {
    // Only what fails is checked again: `isKey` and `isCost` are short enough to be inlined.
    if (!isKey(key)) checkKey(key);
    if (!isCost(cost)) checkCost(cost);
    const { countedAs, rule, onStoreError, live } = this;
    const step: Step = { op, limiter: countedAs, key, rule, cost, binding: true, onStoreError };
    return live ? this.liveStep(step, live) : step;
  }

  /** The decision that an operator has made about a key. */
  ruled(key: string): Decision | undefined {
    return this.live?.ruled(key);
  }

  decide(step: Step, answer: Answer): Decision {
    return decide(this.name, step, answer, this.policyOf(step.rule));
  }

  /** The decision on a step that was to be charged. */
  charged(step: Step, answer: Answer): Decision {
    if (!answer.allowed || answer.failure) return this.chargedElsewhere(step, answer);
    const numbers = measure(step.rule, answer, step.cost);
    const policy = this.policyOf(step.rule);
    return new GrantedDecision('allowed', numbers, policy, step, answer, this.store);
  }

  /** The decision on a step of a group that passes, or not. */
  decideIn(passes: boolean, step: Step, answer: Answer): Decision {
    return passes && step.op === 'take' ? this.charged(step, answer) : this.decide(step, answer);
  }

  /** The step that gives back what a decision charged, or `cost` units of it; undefined if there is nothing. */
  giveBack(decision: Decision, cost: number | undefined): Step | undefined {
    if (cost !== undefined) checkCost(cost);
    return GrantedDecision.giveBack(decision, this.store, this.countedAs, cost);
  }

  /** {@link charged} for a refusal, and for what the stand-in has charged. */
  private chargedElsewhere(step: Step, answer: Answer): Decision {
    const decision = this.decide(step, answer);
    return answer.allowed && answer.standIn
      ? new GrantedDecision(
          decision.outcome,
          decision,
          this.policyOf(step.rule),
          step,
          answer,
          this.store,
        )
      : decision;
  }

  private liveStep(step: Step, live: LiveLimit): Step {
    const binding = live.binds(step.key);
    const variant = live.rulesFor(step.key);
    if (!variant) return { ...step, binding };
    const { rule, local } = variant;
    this.client.note(this, rule);
    const onStoreError = typeof this.onStoreError === 'object' ? local : this.onStoreError;
    return { ...step, binding, rule, onStoreError };
  }

  private policyOf(rule: Rule): Policy {
    return rule === this.rule || !this.live ? this.policy : this.live.policyOf(rule);
  }
}

/**
 * The cost, if one is given. It stands in an object: other libraries take it alone, and here it would count as 1.
 *
 * @throws SpillwayError `SPW_COST_INVALID`, and `SPW_OPTION_UNKNOWN` where there is another option and no cost
 */
export function costIn<Cost>(options: { readonly cost?: Cost } | undefined): Cost | undefined {
  if (options === undefined) return undefined;
  if (isPlainObject(options)) {
    // Looked at only where it may be the cost by another name, for it is asked at each call.
    if (options.cost === undefined) checkNames('a call', options, COST);
    return options.cost;
  }
  throw mustBe('options', 'an object such as { cost: 2 }', options, 'SPW_COST_INVALID');
}
