/** The common part of keyed limiters and shapers: the store, the control, observers and warnings. */

import { MAX_STEPS, tooLarge } from '../algorithms/group.js';
import { isPlainObject, shareAboveZero } from '../base/checks.js';
import { mustBe } from '../base/errors.js';
import { type Eventually, isLater, isThenable } from '../base/host.js';
import type { Control } from '../contract/control.js';
import type { ControlLink } from '../contract/control-link.js';
import {
  type Decision,
  type Mode,
  type OnStoreError,
  skippedDecision,
} from '../contract/decision.js';
import type { Fault } from '../contract/observer.js';
import { type Answer, type Rule, shareOf } from '../contract/rule.js';
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
import type { KeyedLimiterOptions, LimitOptions } from './limiter-options.js';

type Answers = readonly Answer[];
type Then<Value> = (decisions: readonly Decision[], allowed: boolean) => Eventually<Value>;
type DirectOptions = KeyedLimiterOptions<Store>;

interface Made {
  readonly name: string;
  readonly window: LimitOptions['window'];
  readonly mode: Mode;
}

export class DirectClient {
  readonly store: StoreClient;
  readonly control: ControlLink | undefined;
  private readonly pipeline: Pipeline<KeyedPart>;
  readonly observers: Observers;
  private readonly localShare: number;
  private readonly ownControl: Control | undefined;
  private readonly onStoreError: OnStoreError;
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
    this.ownControl = control;
    this.control = control && linkTo(control, this.store, this);
    if (control) this.observers.control(control);
    const context = { onStoreError, fault: (fault: Fault) => this.fault(fault) };
    this.pipeline = new Pipeline(this.store, this.control, this.observers, context);
  }

  get isObserved(): boolean {
    return this.observers.wantsDecisions;
  }

  /** Warns about probable mistakes in how the limits were declared. Call it after they are created. */
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
   * Creates a limit.
   *
   * @param declared the declared numbers, which plans and live settings change. Shapers omit `declared`, because they
   * apply plans and live settings themselves
   * @throws SpillwayError `SPW_NAME_CONFLICT`
   */
  limit(name: string, rule: Rule, declared?: LimitOptions): Limit {
    this.ownControl?.register?.(name, rule);
    const variants = declared && new RuleVariants(name, this.localShare, declared, ruleFrom);
    const { mode, share } = declared ?? {};
    return new Limit({ name, rule, mode, share }, this.store, this.policyFor(rule), this, variants);
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
