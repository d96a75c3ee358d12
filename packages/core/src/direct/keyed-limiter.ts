/** A limit without HTTP: consume, peek, refund and reset by key. */

import { decide, policyOf } from '../algorithms/decide.js';
import { checkCost, checkKey, checkName, shareAboveZero } from '../base/checks.js';
import { mustBe, SpillwayError } from '../base/errors.js';
import { isLater } from '../base/host.js';
import { bindingOf } from '../contract/binding.js';
import type { Decision, Policy } from '../contract/decision.js';
import type { Fault } from '../contract/fault.js';
import { MAX_STEPS, tooLarge } from '../contract/group-size.js';
import { type Rule, shareOf } from '../contract/rule.js';
import type { Answer, Op, Step, Store, SyncStore } from '../contract/store.js';
import { nameFrom, type RuleOptions, ruleFrom } from '../limits/rule-options.js';
import type { MemoryStore } from '../memory/memory-store.js';
import { type SharedMemory, sharedMemory } from '../memory/shared-memory.js';
import { voiceFor } from '../observe/voice.js';
import { checkStore } from '../stores/check-store.js';
import { claimName } from '../stores/names.js';
import { type Refusals, refusalsOf } from '../stores/refusals.js';
import { type ResilienceOptions, resilient } from '../stores/stack.js';
import { GrantedDecision } from './granted-decision.js';

export interface LimiterOptions extends RuleOptions {
  /**
   * With the key, identifies the count in the store. Required with a store. Default: the numbers, as in `100-per-1m`.
   */
  readonly name?: string | undefined;
}

export interface KeyedLimiterOptions<S extends Store> extends ResilienceOptions {
  /** Where counts live. Default: this process's memory, where each limiter counts apart. */
  readonly store?: S | undefined;
  /** With `onStoreError: 'local'`: this process's share of the limit, above 0 up to 1. Default 1. */
  readonly localShare?: number | undefined;
  /**
   * Whether a key that was refused is refused again, until the moment it was promised, without asking a store that
   * answers later.
   * What this process gives back through the same store object is noticed at once, refunds and resets by others within
   * a minute. Default true.
   */
  readonly denialCache?: boolean | undefined;
}

export interface CostOptions {
  /** Units: an integer from 0. Default 1. */
  readonly cost?: number | undefined;
}

/** The answer for many keys at once. */
export interface GroupDecision {
  /** Whether every key passes; if not, none was charged by `consumeAll`. */
  readonly allowed: boolean;
  /**
   * The decision that counts: of those refused the one with the longest wait, else the one with the least remaining.
   */
  readonly binding: Decision;
  /** One for each key, in the order asked; a key asked twice is answered for the sum. */
  readonly decisions: readonly Decision[];
}

/** Now with a store that answers now, else later. */
export type Timely<S extends Store, Value> = S extends SyncStore ? Value : Promise<Value>;

/**
 * A limit by key; what {@link createLimiter} returns. A key is a text of 1 to 8,192 UTF-16 units; another, or a wrong
 * cost, throws `SPW_KEY_INVALID` or `SPW_COST_INVALID`.
 */
export interface KeyedLimiter<S extends Store> {
  readonly name: string;
  readonly rule: Rule;
  /** Charges the cost if it passes. */
  consume(key: string, options?: CostOptions): Timely<S, Decision>;
  /** Charges every key, or none of them. More than 1,000 different keys throw `SPW_GROUP_TOO_LARGE`. */
  consumeAll(keys: readonly string[], options?: CostOptions): Timely<S, GroupDecision>;
  /** Charges every key whether it passes or not; says what `consumeAll` would have said, and throws what it would. */
  record(keys: string | readonly string[], options?: CostOptions): Timely<S, GroupDecision>;
  /** What `consume` would say, without charging. */
  peek(key: string, options?: CostOptions): Timely<S, Decision>;
  /**
   * Gives back what a decision of `consume` charged, once, and no more than still counts: true if anything was. Void
   * after its `resetMs`, or in another window.
   */
  refund(decision: Decision): Timely<S, boolean>;
  /** Forgets a key. False if the store could not be told: the key is counted as before. */
  reset(key: string): Timely<S, boolean>;
}

/**
 * Makes a limit that is asked by key, without HTTP.
 *
 * With a store that answers at once (the memory store) every method does too; with Redis each returns a promise, which
 * never rejects for a store that fails: `onStoreError` decides, and the decision's outcome is `error`.
 *
 * @throws SpillwayError `SPW_LIMIT_INVALID`, `SPW_WINDOW_INVALID`, `SPW_BURST_INVALID`, `SPW_ALGORITHM_INVALID`,
 * `SPW_NAME_INVALID`, `SPW_NAME_REQUIRED`, `SPW_NAME_CONFLICT`, `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`
 * @example
 * ```ts run
 * import { createLimiter } from '@spillway/core';
 *
 * const logins = createLimiter({ name: 'logins', limit: 5, window: '15m' });
 * const decision = logins.consume('ada@example.com');
 * decision.allowed; // true
 * decision.remaining; // 4
 * ```
 */
export function createLimiter<S extends Store = MemoryStore>(
  options: LimiterOptions,
  settings: KeyedLimiterOptions<S> = {},
): KeyedLimiter<S> {
  return new Keyed(options, settings) as unknown as KeyedLimiter<S>;
}

type Eventually<Value> = Value | Promise<Value>;

class Keyed {
  readonly name: string;
  readonly rule: Rule;
  private readonly store: Store;
  /** What stands for this limiter in the store. */
  private readonly countedAs: string;
  private readonly policy: Policy;
  private readonly onStoreError: 'allow' | 'deny' | Rule;
  private readonly refusals: Refusals | undefined;
  private readonly asksAlways: boolean;
  private readonly fault: ((fault: Fault) => void) | undefined;

  constructor(options: LimiterOptions, settings: KeyedLimiterOptions<Store>) {
    this.rule = ruleFrom(options);
    if (settings.store) checkStore(settings.store);
    if (settings.store && options.name === undefined) {
      throw new SpillwayError(
        'SPW_NAME_REQUIRED',
        'name is required with a store: it identifies the limit there, so that no other meets its counts',
      );
    }
    this.name = checkName(options.name ?? nameFrom(options.limit, options.window));
    const memory = settings.store ? undefined : sharedMemory();
    const store = settings.store ?? (memory as SharedMemory).store;
    this.countedAs = memory?.nameOf(this) ?? this.name;
    const { onStoreError = 'local', localShare = 1 } = settings;
    this.store = resilient(store, settings, undefined, [[this.name, onStoreError]]);
    this.refusals = store.sync ? undefined : refusalsOf(store);
    this.asksAlways = settings.denialCache === false;
    this.fault = voiceFor(settings, store);
    claimName(store, this.countedAs, this.rule);
    this.policy = policyOf(this.name, this.rule);
    shareAboveZero('localShare', localShare);
    this.onStoreError = onStoreError === 'local' ? shareOf(this.rule, localShare) : onStoreError;
  }

  consume(key: string, options?: CostOptions): Eventually<Decision> {
    const step = this.step('take', key, options?.cost);
    const known = this.asksAlways ? undefined : this.refusals?.find(step);
    if (known) return Promise.resolve(decide(this.name, step, known, this.policy));
    return this.ask([step], ([answer]) => this.grant(step, answer as Answer));
  }

  peek(key: string, options?: CostOptions): Eventually<Decision> {
    const step = this.step('look', key, options?.cost);
    return this.ask([step], ([answer]) => decide(this.name, step, answer as Answer, this.policy));
  }

  consumeAll(keys: readonly string[], options?: CostOptions): Eventually<GroupDecision> {
    return this.askAll('take', keys, options);
  }

  record(keys: string | readonly string[], options?: CostOptions): Eventually<GroupDecision> {
    return this.askAll('record', typeof keys === 'string' ? [keys] : keys, options);
  }

  refund(decision: Decision): Eventually<boolean> {
    const step = GrantedDecision.giveBack(decision, this.countedAs);
    if (!step) return this.ask([], () => false);
    return this.ask([step], ([answer]) => (answer as Answer).allowed);
  }

  reset(key: string): Eventually<boolean> {
    return this.ask([this.step('reset', key)], ([answer]) => !(answer as Answer).failure);
  }

  private askAll(
    op: Op,
    keys: readonly string[],
    options?: CostOptions,
  ): Eventually<GroupDecision> {
    if (!Array.isArray(keys) || keys.length === 0) {
      throw mustBe('keys', 'a list of at least one key', keys, 'SPW_KEY_INVALID');
    }
    const costs = new Map<string, number>();
    for (const key of keys) {
      const step = this.step(op, key, options?.cost);
      if (costs.size === MAX_STEPS && !costs.has(key)) throw tooLarge();
      costs.set(key, Math.min((costs.get(key) ?? 0) + step.cost, Number.MAX_SAFE_INTEGER));
    }
    const steps = [...costs].map(([key, cost]) => this.step(op, key, cost));
    return this.ask(steps, (answers) => {
      const allowed = answers.every((answer) => answer.allowed);
      const byKey = new Map<string, Decision>();
      steps.forEach((step, index) => {
        const answer = answers[index] as Answer;
        const granted = allowed && op === 'take';
        byKey.set(
          step.key,
          granted ? this.grant(step, answer) : decide(this.name, step, answer, this.policy),
        );
      });
      const decisions = keys.map((key) => byKey.get(key) as Decision);
      return { allowed, binding: bindingOf(decisions), decisions };
    });
  }

  private step(op: Op, key: string, cost = 1): Step {
    checkKey(key);
    checkCost(cost);
    const { countedAs, rule, onStoreError } = this;
    return { op, limiter: countedAs, key, rule, cost, binding: true, onStoreError };
  }

  private ask<Value>(
    steps: readonly Step[],
    then: (answers: readonly Answer[]) => Value,
  ): Eventually<Value> {
    if (steps.length === 0) return this.store.sync ? then([]) : Promise.resolve(then([]));
    const askedUs = this.refusals?.now() ?? 0;
    this.forgetGivenBack(steps);
    const answers = this.store.apply(steps);
    if (!isLater(answers)) {
      this.tellFailure(answers);
      return then(answers);
    }
    return answers.then((value) => {
      this.tellFailure(value);
      this.forgetGivenBack(steps);
      steps.forEach((step, index) => {
        this.refusals?.learn(step, value[index] as Answer, askedUs);
      });
      return then(value);
    });
  }

  private tellFailure(answers: readonly Answer[]): void {
    // One will do: those of a group that failed, failed for one reason.
    const error = answers.find(({ failure }) => failure)?.failure;
    if (error) this.fault?.({ limiter: this.name, source: 'store', error });
  }

  private forgetGivenBack(steps: readonly Step[]): void {
    if (!this.refusals) return;
    for (const step of steps) {
      if (step.op === 'put' || step.op === 'reset') this.refusals.forget(step);
    }
  }

  private grant(step: Step, answer: Answer): Decision {
    const decision = decide(this.name, step, answer, this.policy);
    return answer.allowed && (!answer.failure || answer.standIn)
      ? new GrantedDecision(decision, step, answer)
      : decision;
  }
}
