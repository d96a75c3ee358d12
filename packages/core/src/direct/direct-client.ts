/** What limits without HTTP have in common: their store, their control, and who watches them. */

import { MAX_STEPS, tooLarge } from '../algorithms/group.js';
import { isPlainObject, shareAboveZero } from '../base/checks.js';
import type { Duration } from '../base/duration.js';
import { mustBe } from '../base/errors.js';
import { type Eventually, isLater, isThenable } from '../base/host.js';
import type { Answer } from '../contract/ask.js';
import type { Control } from '../contract/control.js';
import type { ControlLink } from '../contract/control-link.js';
import {
  type Decision,
  type Mode,
  type OnStoreError,
  skippedDecision,
} from '../contract/decision.js';
import type { Fault } from '../contract/observer.js';
import { type Rule, shareOf } from '../contract/rule.js';
import type { Op, Step, Store, StoreErrorPolicy } from '../contract/store.js';
import { Pipeline } from '../engine/pipeline.js';
import { noticesOn } from '../limits/limiter-notices.js';
import { ruleFrom } from '../limits/rule-options.js';
import { RuleVariants } from '../limits/rule-variants.js';
import { faultLogFor } from '../observe/faults.js';
import { tellOfLimiters, tellOfMissingStore, tellOfShadow } from '../observe/limiter-notices.js';
import { Notices } from '../observe/notices.js';
import { Observers } from '../observe/observers.js';
import { linkTo, StoreClient } from '../stores/store-client.js';
import { type KeyedPart, Limit } from './limit.js';
import type { KeyedLimiterOptions, LimitOptions } from './options.js';

type Answers = readonly Answer[];
type Then<Value> = (decisions: readonly Decision[], allowed: boolean) => Eventually<Value>;
type DirectOptions = KeyedLimiterOptions<Store>;

/** A limit as it was declared. */
interface Made {
  readonly name: string;
  readonly window: Duration;
  readonly mode: Mode;
}

export class DirectClient {
  readonly store: StoreClient;
  /** What is set live: a mistake in it is told. */
  readonly control: ControlLink | undefined;
  private readonly pipeline: Pipeline<KeyedPart>;
  private readonly observers: Observers;
  private readonly localShare: number;
  private readonly ownControl: Control | undefined;
  private readonly onStoreError: OnStoreError;
  private readonly notices: Notices;

  /**
   * @param names of all limits that will be made
   * @throws SpillwayError `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`
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
    this.ownControl = control;
    this.control = control && linkTo(control, this.store, this);
    if (control) this.observers.control(control);
    const context = { onStoreError, fault: (fault: Fault) => this.fault(fault) };
    this.pipeline = new Pipeline(this.store, this.control, this.observers, context);
  }

  /** Whether anybody is told of decisions. */
  get isObserved(): boolean {
    return this.observers.hearsDecisions;
  }

  /** Logs what may be a mistake in how limits were made; to be called once they are. */
  tellOf(limits: readonly Made[]): void {
    const told = limits.map(({ name, window, mode }) => ({
      name,
      mode,
      notices: noticesOn(name, window),
    }));
    tellOfLimiters(this.notices, told, this.store.withoutStore);
    tellOfShadow(this.notices, 'enforce', told);
  }

  /**
   * @param declared the numbers that plans and live settings may replace; of a shaper its own pace does
   * @throws SpillwayError `SPW_NAME_CONFLICT`
   */
  limit(name: string, rule: Rule, declared?: LimitOptions): Limit {
    this.ownControl?.register?.(name, rule);
    const variants = declared && new RuleVariants(name, this.localShare, declared, ruleFrom);
    const { mode, share } = declared ?? {};
    return new Limit({ name, rule, mode, share }, this.store, this.policyFor(rule), this, variants);
  }

  /** What answers for a rule when the store cannot. */
  policyFor(rule: Rule): StoreErrorPolicy {
    const { onStoreError, localShare } = this;
    return onStoreError === 'local' ? shareOf(rule, localShare) : onStoreError;
  }

  /** Tells of a decision that was not made by {@link decide}. */
  tell(decision: Decision, key: string): void {
    this.observers.decision(decision, 'enforce', key, undefined);
  }

  /** Tells of what failed. */
  fault(fault: Fault): void {
    this.observers.fault(fault);
  }

  /**
   * What `then` makes of the decisions, and of whether all pass. Takes that do not all pass charge nothing.
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
      // Where the group does not pass, nobody was charged, and nothing can be given back.
      return then(allowed ? decisions : decisions.map((decision) => ({ ...decision })), allowed);
    };
    const open = pipeline.open(parts, op === 'take');
    if (!open) return this.known(conclude());
    return pipeline.decideNow(open) ? conclude() : pipeline.ask(open, conclude);
  }

  /** What is known without the store, as soon as its answers come. */
  known<Value>(value: Eventually<Value>): Eventually<Value> {
    return this.store.sync || isLater(value) ? value : this.store.link.soon(value);
  }

  /** What `then` makes of the answers to steps of which nothing is decided here. */
  ask<Value>(
    steps: readonly Step[],
    then: (answers: Answers) => Eventually<Value>,
  ): Eventually<Value> {
    return this.store.link.ask(steps, (answers) => then(this.told(steps, answers)));
  }

  /** {@link ask} for steps that give back; undefined stands for nothing to give back, and so does no step. */
  refund(steps: readonly (Step | undefined)[]): Eventually<boolean> {
    const puts = steps.filter((step) => step !== undefined);
    if (puts.length === 0) return this.known(false);
    return this.giveBack(puts, (answers) => answers.some(({ allowed }) => allowed));
  }

  reset(step: Step): Eventually<boolean> {
    return this.giveBack([step], ([answer]) => !(answer as Answer).failure);
  }

  /** What `then` makes of the answers to steps that give back. */
  giveBack<Value>(steps: readonly Step[], then: (answers: Answers) => Value): Eventually<Value> {
    return this.store.link.giveBack(steps, (answers) => then(this.told(steps, answers)));
  }

  /** The answers; a failure behind them is told. */
  private told(steps: readonly Step[], answers: Answers): Answers {
    // One will do: those of a group that failed, failed for one reason.
    const at = answers.findIndex(({ failure }) => failure);
    const { failure: error } = answers[at] ?? {};
    if (error) {
      // Without a store its name is another there, but then no store fails.
      const { limiter } = steps[at] as Step;
      this.fault({ limiter, source: 'store', error });
    }
    return answers;
  }
}

/**
 * What is to be given back must be what `consume` answered, and not a promise of it.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
export function checkDecision(decision: unknown): void {
  if (!isPlainObject(decision) || isThenable(decision)) {
    throw mustBe('decision', 'what consume answers', decision);
  }
}
