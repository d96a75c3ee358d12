import { decideStep, measure, policyOf } from '../algorithms/decide.js';
import { receiptOfStep } from '../algorithms/receipt.js';
import { checkCost, checkKey, isCost, isKey, isPlainObject } from '../base/checks.js';
import { mustBe } from '../base/errors.js';
import { checkNames, type NamesOf } from '../base/option-names.js';
import type { LimiterSettings } from '../contract/control.js';
import type { ControlLink } from '../contract/control-link.js';
import type { Decision, Mode, Policy } from '../contract/decision.js';
import type { Grant } from '../contract/metered-cost.js';
import type { Fault } from '../contract/observer.js';
import type { Plan } from '../contract/request.js';
import type { Answer, FaultSink, Rule } from '../contract/rule.js';
import type { Op, Step, StoreErrorPolicy } from '../contract/store.js';
import type { Decider, Part } from '../engine/pipeline.js';
import type { RuleVariants } from '../limits/rule-variants.js';
import type { StoreClient } from '../stores/store-client.js';
import { GrantedDecision } from './granted-decision.js';
import type { CostOptions, LimitOptions } from './limiter-options.js';

const COST: NamesOf<CostOptions> = { cost: 1, plan: 1, period: 1, item: 1 };

interface LimitOwner extends FaultSink {
  readonly control: ControlLink | undefined;
  fault(fault: Fault): void;
}

interface LimitNumbers {
  readonly name: string;
  readonly rule: Rule;
  readonly mode?: Mode | undefined;
  readonly share?: number | undefined;
}

export interface KeyedPart extends Part {
  readonly limiter: Limit;
}

export class Limit implements Decider {
  readonly name: string;
  readonly rule: Rule;
  readonly mode: Mode;
  readonly share: number;
  private readonly countedAs: string;
  private readonly policy: Policy;
  private readonly policyOnError: StoreErrorPolicy;
  private readonly client: StoreClient;
  private readonly owner: LimitOwner;
  private readonly variants: RuleVariants<LimitOptions> | undefined;

  constructor(
    { name, rule, mode = 'enforce', share = 1 }: LimitNumbers,
    client: StoreClient,
    onStoreError: StoreErrorPolicy,
    owner: LimitOwner,
    variants?: RuleVariants<LimitOptions>,
  ) {
    this.name = name;
    this.rule = rule;
    this.mode = mode;
    this.share = share;
    this.policyOnError = onStoreError;
    this.policy = policyOf(name, rule);
    this.countedAs = client.nameOf(this);
    this.client = client;
    this.owner = owner;
    this.variants = variants;
    client.claim(this, rule);
  }

  /** Whether decisions depend only on the numbers: the limit is enforced for all keys, and there is no control. */
  get isPlain(): boolean {
    return this.mode === 'enforce' && this.share === 1 && !this.owner.control;
  }

  /** The live settings. Read them once per decision. */
  settings(): LimiterSettings | undefined {
    return this.owner.control?.settingsOf(this.name);
  }

  part(
    op: Op,
    key: string,
    cost: number | undefined,
    settings: LimiterSettings | undefined,
    own?: CostOptions,
  ): KeyedPart {
    const step = this.step(op, key, cost, own);
    const mode = settings?.mode ?? this.mode;
    return {
      limiter: this,
      mode,
      settings,
      step: mode === 'off' ? undefined : this.stepIn(mode, step, settings, own?.plan),
      answer: undefined,
      decision: undefined,
    };
  }

  step(op: Op, key: string, cost = 1, given: CostOptions = {}): Step {
    // V8 can inline the short `isKey` and `isCost`. Only invalid values reach the functions that throw.
    if (!isKey(key)) checkKey(key);
    if (!isCost(cost)) checkCost(cost);
    const { countedAs, rule, policyOnError: onStoreError } = this;
    const step: Step = {
      op,
      limiter: countedAs,
      key,
      rule,
      cost,
      binding: !rule.soft,
      onStoreError,
    };
    return (op !== 'reset' && rule.logic.complete?.(step, given, this.name, this.owner)) || step;
  }

  /** The decision on a step. If the step is a `take` that passed and was counted, the decision can be refunded. */
  decide(step: Step, answer: Answer): Decision {
    const { allowed, failure, fallbackReceipt } = answer;
    const policy = this.policyOf(step.rule);
    const { store } = this.client;
    if (allowed && !failure && step.op === 'take') {
      const numbers = measure(step.rule, answer, step.cost);
      return new GrantedDecision('allowed', numbers, policy, step, answer, store);
    }
    const decision = decideStep(this.name, step, answer, policy);
    if (!allowed || !fallbackReceipt || step.op !== 'take') return decision;
    return new GrantedDecision(decision.outcome, decision, policy, step, answer, store);
  }

  giveBack(decision: Decision, cost: number | undefined): Step | undefined {
    if (cost !== undefined) checkCost(cost);
    const { step, answer } = this.takeGrant(decision) ?? {};
    if (!step || !answer) return undefined;
    const receipt = receiptOfStep(step, answer);
    return { ...step, op: 'put', cost: Math.min(cost ?? Infinity, receipt.units), receipt };
  }

  /**
   * Removes and returns what a decision charged; undefined if nothing is left, or another limiter made the decision.
   */
  takeGrant(decision: Decision): Grant | undefined {
    return GrantedDecision.takeGrant(decision, this.client.store, this.countedAs);
  }

  private stepIn(
    mode: Mode,
    step: Step,
    settings: LimiterSettings | undefined,
    plan: Plan | null | undefined,
  ): Step {
    const binding = mode === 'enforce';
    const { owner } = this;
    const variant = this.variants?.variantFor(
      step.key,
      plan,
      settings?.limits,
      owner.control,
      owner,
    );
    if (!variant || variant === this.variants?.declared) {
      return binding ? step : { ...step, binding };
    }
    const { rule, local } = variant;
    this.client.note(this, rule);
    const onStoreError = typeof this.policyOnError === 'object' ? local : this.policyOnError;
    return { ...step, binding: binding && !rule.soft, rule, onStoreError };
  }

  private policyOf(rule: Rule): Policy {
    return rule === this.rule || !this.variants ? this.policy : this.variants.policyOf(rule);
  }
}

/**
 * Reads the option `cost`. Throws if a number is passed in place of the options, because a call such as
 * `consume(key, 5)`, written for another library, would otherwise charge 1.
 *
 * @throws SpillwayError `SPW_COST_INVALID`, and `SPW_OPTION_UNKNOWN` if there is an unknown option and no cost
 */
export function costIn<Cost>(options: { readonly cost?: Cost } | undefined): Cost | undefined {
  if (options === undefined) return undefined;
  if (isPlainObject(options)) {
    // Checking names takes time, so they are checked only if `cost` is missing, because it may be misspelled.
    if (options.cost === undefined) checkNames('a call', options, COST);
    return options.cost;
  }
  throw mustBe('options', 'an object such as { cost: 2 }', options, 'SPW_COST_INVALID');
}
