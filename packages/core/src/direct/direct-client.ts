/**
 * The common part of keyed limiters and shapers: the store, the control, observers and warnings, and the limits that
 * they share.
 */

import { decideStep, measure, policyOf } from '../algorithms/decide.js';
import { MAX_STEPS, tooLarge } from '../algorithms/group.js';
import { receiptOfStep } from '../algorithms/receipt.js';
import { checkOptions } from '../base/check-shapes.js';
import {
  checkCost,
  checkKey,
  isCost,
  isKey,
  isPlainObject,
  oneOf,
  shareAboveZero,
} from '../base/checks.js';
import { mustBe } from '../base/errors.js';
import { type Eventually, isLater, isThenable } from '../base/host.js';
import { checkNames, type NamesOf } from '../base/option-names.js';
import type { LimiterSettings } from '../contract/control.js';
import type { ControlLink } from '../contract/control-link.js';
import {
  type Decision,
  MODES,
  type Mode,
  type OnStoreError,
  type Policy,
  skippedDecision,
} from '../contract/decision.js';
import type { Grant } from '../contract/metered-cost.js';
import type { Fault } from '../contract/observer.js';
import type { Plan } from '../contract/request.js';
import { type Answer, type Rule, shareOf } from '../contract/rule.js';
import type { Op, Step, Store, StoreErrorPolicy } from '../contract/store.js';
import { type Decider, type Part, Pipeline } from '../engine/pipeline.js';
import { noticesOn } from '../limits/limiter-notices.js';
import { checkShare } from '../limits/limiter-options.js';
import { ruleFrom } from '../limits/rule-options.js';
import { RuleVariants } from '../limits/rule-variants.js';
import { faultLogFor } from '../observe/faults.js';
import { tellOfLimiters, tellOfMissingStore, tellOfShadow } from '../observe/limiter-notices.js';
import { Notices } from '../observe/notices.js';
import { Observers } from '../observe/observers.js';
import { checkClientOptions } from '../stores/check-store.js';
import { linkTo, StoreClient } from '../stores/store-client.js';
import { GrantedDecision } from './granted-decision.js';
import type { CostOptions, KeyedLimiterOptions, LimitOptions } from './limiter-options.js';

type Answers = readonly Answer[];
type Then<Value> = (decisions: readonly Decision[], allowed: boolean) => Eventually<Value>;
type DirectOptions = KeyedLimiterOptions<Store>;

export class DirectClient {
  readonly store: StoreClient;
  readonly control: ControlLink | undefined;
  private readonly pipeline: Pipeline<KeyedPart>;
  readonly observers: Observers;
  private readonly localShare: number;
  readonly onStoreError: OnStoreError;
  readonly notices: Notices;

  /**
   * @param names the names of all limits that will be created
   * @throws SpillwayError `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
   */
  constructor(names: readonly string[], settings: DirectOptions) {
    const { onStoreError = 'local', localShare = 1, control, observers = [] } = settings;
    this.onStoreError = onStoreError;
    this.localShare = shareAboveZero('localShare', localShare);
    const policies = names.map((name) => [name, onStoreError] as const);
    this.observers = new Observers([settings, ...observers], faultLogFor(settings, settings.store));
    this.store = new StoreClient(settings, this.observers, policies);
    this.notices = new Notices(settings);
    if (!settings.store) tellOfMissingStore(this.notices);
    this.control = control && linkTo(control, this.store, this);
    if (control) this.observers.control(control);
    this.pipeline = new Pipeline(this.store, this.control, this.observers, this);
  }

  /** Warns about probable mistakes in how the limits were declared. Call it after they are created. */
  tellOf(limits: readonly Limit[]): void {
    const told = limits.map(({ name, mode, window }) => ({
      name,
      mode,
      notices: noticesOn(name, window),
    }));
    tellOfLimiters(this.notices, told, this.store.withoutStore);
    tellOfShadow(this.notices, 'enforce', told);
  }

  /**
   * Creates a limit.
   *
   * @param declared the declared numbers, which plans and live settings change. Shapers omit `declared`, because they
   * apply plans and live settings themselves
   * @throws SpillwayError `SPW_NAME_CONFLICT`
   */
  limit(name: string, rule: Rule, declared?: LimitOptions): Limit {
    this.control?.register(name, rule);
    const variants = declared && new RuleVariants(name, this.localShare, declared, ruleFrom);
    return new Limit(name, rule, this, variants);
  }

  policyFor(rule: Rule): StoreErrorPolicy {
    const { onStoreError, localShare } = this;
    return onStoreError === 'local' ? shareOf(rule, localShare) : onStoreError;
  }

  /** Reports a decision to observers and returns it. For decisions that {@link decide} did not make. */
  tell(decision: Decision, key: string): Decision {
    this.observers.decision(decision, 'enforce', key, undefined);
    return decision;
  }

  fault(fault: Fault): void {
    this.observers.fault(fault);
  }

  /**
   * Decides the parts together and returns the result of `then`. If a part is rejected, a `take` charges nothing.
   *
   * @throws SpillwayError `SPW_GROUP_TOO_LARGE`
   */
  decide<Value>(parts: readonly KeyedPart[], op: Op, then: Then<Value>): Eventually<Value> {
    if (parts.length > MAX_STEPS) throw tooLarge();
    const { pipeline } = this;
    const conclude = (): Eventually<Value> => {
      const decisions = parts.map((part) =>
        op === 'look'
          ? (part.decision ?? skippedDecision(part.limiter.name))
          : pipeline.conclude(part),
      );
      const allowed = decisions.every((decision) => decision.allowed);
      // A rejected `take` charged nothing, so its decisions are replaced by plain copies, which can't be refunded.
      return then(allowed ? decisions : decisions.map((decision) => ({ ...decision })), allowed);
    };
    const open = pipeline.decideWithoutStore(parts, op === 'take');
    if (!open) return this.known(conclude());
    return pipeline.decideNow(open) ? conclude() : pipeline.askStore(open, conclude);
  }

  /** Returns a value as the store would: directly if the store is synchronous, otherwise as a promise. */
  known<Value>(value: Eventually<Value>): Eventually<Value> {
    return this.store.sync || isLater(value) ? value : this.store.link.soon(value);
  }

  ask<Value>(
    steps: readonly Step[],
    then: (answers: Answers) => Eventually<Value>,
  ): Eventually<Value> {
    return this.store.link.ask(steps, (answers) => then(this.report(steps, answers)));
  }

  /** Sends `put` steps, which refund. Skips undefined steps. Returns whether anything was refunded. */
  refund(steps: readonly (Step | undefined)[]): Eventually<boolean> {
    const puts = steps.filter((step) => step !== undefined);
    if (puts.length === 0) return this.known(false);
    return this.giveBack(puts, (answers) => answers.some(({ allowed }) => allowed));
  }

  reset(step: Step): Eventually<boolean> {
    return this.giveBack([step], ([answer]) => !(answer as Answer).failure);
  }

  /** Like {@link ask}, for steps that refund, release or reset. Also removes their keys from the denial cache. */
  giveBack<Value>(steps: readonly Step[], then: (answers: Answers) => Value): Eventually<Value> {
    return this.store.link.giveBack(steps, (answers) => then(this.report(steps, answers)));
  }

  private report(steps: readonly Step[], answers: Answers): Answers {
    // Reports only the first failure, because the failures of a group usually have the same reason.
    const at = answers.findIndex(({ failure }) => failure);
    const error = answers[at]?.failure;
    // The limiter's name in the store. Without a store it differs from the declared name, but then no call fails.
    if (error) this.fault({ limiter: (steps[at] as Step).limiter, source: 'store', error });
    return answers;
  }
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
  private readonly owner: DirectClient;
  private readonly variants: RuleVariants<LimitOptions> | undefined;

  constructor(
    name: string,
    rule: Rule,
    owner: DirectClient,
    variants: RuleVariants<LimitOptions> | undefined,
  ) {
    const { mode = 'enforce', share = 1 } = variants?.declared.numbers ?? {};
    this.name = name;
    this.rule = rule;
    this.mode = mode;
    this.share = share;
    this.policyOnError = owner.policyFor(rule);
    this.policy = policyOf(name, rule);
    this.client = owner.store;
    this.countedAs = this.client.nameOf(this);
    this.owner = owner;
    this.variants = variants;
    this.client.claim(this, rule);
  }

  get window(): unknown {
    return this.variants?.declared.numbers.window;
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

  /** Takes what a decision charged; undefined if nothing is left, or another limiter made the decision. */
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
 * Checks that the decision passed to `refund` or `settle` is an object, and not a promise that the caller forgot to
 * await.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
export function checkDecision(decision: unknown): void {
  if (!isPlainObject(decision) || isThenable(decision)) {
    throw mustBe('decision', 'what consume() returns, awaited', decision);
  }
}

/**
 * Checks the second argument of `of`.
 *
 * @param of the name of a function, such as `createLimiter()`
 * @param names the known options
 * @param first the options of the first argument. If one of them is in `settings`, the message says where it belongs
 * @throws SpillwayError `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 */
export function checkSettings(
  settings: DirectOptions,
  of: string,
  names: NamesOf<DirectOptions>,
  first: object,
): void {
  checkOptions(settings, `the second argument of ${of}`, names, ['its first argument', first]);
  checkClientOptions(settings);
}

export function checkModeAndShare({ mode, share }: LimitOptions): void {
  oneOf('mode', mode, MODES);
  checkShare(share);
}

const COST: NamesOf<CostOptions> = { cost: 1, plan: 1, period: 1, item: 1 };

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
