/** What limits without HTTP have in common: the client of their store, and the voice that tells of its failures. */

import { isPlainObject, shareAboveZero } from '../base/checks.js';
import type { Duration } from '../base/duration.js';
import { mustBe } from '../base/errors.js';
import { type Eventually, isLater, isThenable } from '../base/host.js';
import type { Answer } from '../contract/answer.js';
import type { Control } from '../contract/control.js';
import type { ControlLink } from '../contract/control-link.js';
import type { Fault } from '../contract/fault.js';
import { MAX_STEPS, tooLarge } from '../contract/group-size.js';
import type { OnStoreError } from '../contract/mode.js';
import { type Rule, shareOf } from '../contract/rule.js';
import type { Step, Store, StoreErrorPolicy } from '../contract/store.js';
import { noticesOn } from '../limits/limiter-notices.js';
import { type RuleOptions, ruleFrom } from '../limits/rule-options.js';
import { tellOfLimiters } from '../observe/limiter-notices.js';
import { Notices } from '../observe/notices.js';
import { tellOfMissingStore } from '../observe/place-notices.js';
import { voiceFor } from '../observe/voice.js';
import { linkTo } from '../stores/control-users.js';
import { StoreClient } from '../stores/store-client.js';
import { Limit } from './limit.js';
import type { KeyedLimiterOptions } from './options.js';

type Answers = readonly Answer[];

export class DirectClient {
  readonly store: StoreClient;
  /** What is set live: a mistake in it is told. */
  readonly control: ControlLink | undefined;
  private readonly localShare: number;
  private readonly ownControl: Control | undefined;
  private readonly onStoreError: OnStoreError;
  private readonly voice: ((fault: Fault) => void) | undefined;
  private readonly notices: Notices;

  /**
   * @param names of all limits that will be made
   * @throws SpillwayError `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`
   */
  constructor(names: readonly string[], settings: KeyedLimiterOptions<Store>) {
    const { onStoreError = 'local', localShare = 1, logger, breaker, control } = settings;
    this.onStoreError = onStoreError;
    this.localShare = shareAboveZero('localShare', localShare);
    const policies = names.map((name) => [name, onStoreError] as const);
    this.store = new StoreClient(settings, undefined, policies);
    this.voice = voiceFor({ logger, breaker }, settings.store);
    this.notices = new Notices(settings);
    if (!settings.store) tellOfMissingStore(this.notices);
    this.ownControl = control;
    this.control = control && linkTo(control, this.store, this);
  }

  /** Logs what may be a mistake in how limits were made; to be called once they are. */
  tellOf(limits: readonly (readonly [name: string, window: Duration])[]): void {
    const told = limits.map(([name, window]) => ({
      name,
      notices: noticesOn(name, window),
    }));
    tellOfLimiters(this.notices, told, this.store.withoutStore);
  }

  /**
   * @param declared the numbers that live settings may replace; of a shaper its own pace does
   * @throws SpillwayError `SPW_NAME_CONFLICT`
   */
  limit(name: string, rule: Rule, declared?: RuleOptions): Limit {
    const { control, localShare } = this;
    this.ownControl?.register?.(name, rule);
    const live = declared && control?.limit(name, declared, ruleFrom, localShare);
    return new Limit(name, rule, this.store, this.policyFor(rule), live);
  }

  /** What answers for a rule when the store cannot. */
  policyFor(rule: Rule): StoreErrorPolicy {
    const { onStoreError, localShare } = this;
    return onStoreError === 'local' ? shareOf(rule, localShare) : onStoreError;
  }

  /** Tells of what failed. */
  fault(fault: Fault): void {
    this.voice?.(fault);
  }

  /**
   * What `then` makes of the answers to the steps.
   *
   * @throws SpillwayError `SPW_GROUP_TOO_LARGE`
   */
  ask<Value>(
    steps: readonly Step[],
    then: (answers: Answers) => Eventually<Value>,
  ): Eventually<Value> {
    if (steps.length > MAX_STEPS) throw tooLarge();
    return this.store.ask(steps, (answers) => then(this.told(steps, answers)));
  }

  /** What is known without the store, as soon as its answers come. */
  known<Value>(value: Eventually<Value>): Eventually<Value> {
    return this.store.sync || isLater(value) ? value : this.store.soon(value);
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
    return this.store.giveBack(steps, (answers) => then(this.told(steps, answers)));
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
