/** A limit without HTTP: consume, peek, refund and reset by key. */

import { decide, policyOf } from '../algorithms/decide.js';
import { measure } from '../algorithms/measure.js';
import { checkOptions } from '../base/check-shapes.js';
import {
  checkCost,
  checkKey,
  checkName,
  isCost,
  isKey,
  isPlainObject,
  shareAboveZero,
} from '../base/checks.js';
import { mustBe, SpillwayError } from '../base/errors.js';
import { isLater, isThenable } from '../base/host.js';
import type { Answer } from '../contract/answer.js';
import { bindingOf } from '../contract/binding.js';
import type { Decision, Policy } from '../contract/decision.js';
import type { Fault } from '../contract/fault.js';
import { MAX_STEPS, tooLarge } from '../contract/group-size.js';
import { type Rule, shareOf } from '../contract/rule.js';
import type { Op, Step, Store } from '../contract/store.js';
import { nameOf, ruleFrom } from '../limits/rule-options.js';
import type { MemoryStore } from '../memory/memory-store.js';
import { voiceFor } from '../observe/voice.js';
import { checkClientOptions } from '../stores/check-store.js';
import { StoreClient } from '../stores/store-client.js';
import { GrantedDecision } from './granted-decision.js';
import type {
  CostOptions,
  GroupDecision,
  KeyedLimiter,
  KeyedLimiterOptions,
  LimiterOptions,
} from './options.js';

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
  private readonly client: StoreClient;
  /** What stands for this limiter in the store. */
  private readonly countedAs: string;
  private readonly policy: Policy;
  private readonly onStoreError: 'allow' | 'deny' | Rule;
  private readonly fault: ((fault: Fault) => void) | undefined;

  constructor(options: LimiterOptions, settings: KeyedLimiterOptions<Store>) {
    checkOptions(options);
    checkClientOptions(settings);
    this.rule = ruleFrom(options);
    if (settings.store && options.name === undefined) {
      throw new SpillwayError(
        'SPW_NAME_REQUIRED',
        'name is required with a store: it identifies the limit there, so that no other meets its counts',
      );
    }
    this.name = checkName(nameOf(options));
    const { onStoreError = 'local', localShare = 1, logger, breaker } = settings;
    this.client = new StoreClient(settings, undefined, [[this.name, onStoreError]]);
    this.countedAs = this.client.nameOf(this);
    this.fault = voiceFor({ logger, breaker }, settings.store);
    this.client.claim(this, this.rule);
    this.policy = policyOf(this.name, this.rule);
    shareAboveZero('localShare', localShare);
    this.onStoreError = onStoreError === 'local' ? shareOf(this.rule, localShare) : onStoreError;
  }

  consume(key: string, options?: CostOptions): Eventually<Decision> {
    const step = this.step('take', key, costOf(options));
    const now = this.client.askNow(step);
    return now ? this.charged(step, now) : this.consumeLater(step);
  }

  private consumeLater(step: Step): Eventually<Decision> {
    const known = this.client.known(step);
    if (known) return Promise.resolve(decide(this.name, step, known, this.policy));
    return this.told(this.client.ask([step]), ([answer]) => this.charged(step, answer as Answer));
  }

  peek(key: string, options?: CostOptions): Eventually<Decision> {
    const step = this.step('look', key, costOf(options));
    return this.told(this.client.ask([step]), ([answer]) =>
      decide(this.name, step, answer as Answer, this.policy),
    );
  }

  consumeAll(keys: readonly string[], options?: CostOptions): Eventually<GroupDecision> {
    return this.askAll('take', keys, options);
  }

  record(keys: string | readonly string[], options?: CostOptions): Eventually<GroupDecision> {
    return this.askAll('record', typeof keys === 'string' ? [keys] : keys, options);
  }

  refund(decision: Decision): Eventually<boolean> {
    if (!isPlainObject(decision) || isThenable(decision)) {
      throw mustBe('decision', 'what consume answers', decision);
    }
    const step = GrantedDecision.giveBack(decision, this.countedAs);
    if (!step) return this.client.sync ? false : Promise.resolve(false);
    return this.told(this.client.giveBack([step]), ([answer]) => (answer as Answer).allowed);
  }

  reset(key: string): Eventually<boolean> {
    const answers = this.client.giveBack([this.step('reset', key)]);
    return this.told(answers, ([answer]) => !(answer as Answer).failure);
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
      const step = this.step(op, key, costOf(options));
      if (costs.size === MAX_STEPS && !costs.has(key)) throw tooLarge();
      costs.set(key, Math.min((costs.get(key) ?? 0) + step.cost, Number.MAX_SAFE_INTEGER));
    }
    const steps = [...costs].map(([key, cost]) => this.step(op, key, cost));
    return this.told(this.client.ask(steps), (answers) => {
      const allowed = answers.every((answer) => answer.allowed);
      const byKey = new Map<string, Decision>();
      steps.forEach((step, index) => {
        const answer = answers[index] as Answer;
        const granted = allowed && op === 'take';
        byKey.set(
          step.key,
          granted ? this.charged(step, answer) : decide(this.name, step, answer, this.policy),
        );
      });
      const decisions = keys.map((key) => byKey.get(key) as Decision);
      return { allowed, binding: bindingOf(decisions), decisions };
    });
  }

  private step(op: Op, key: string, cost = 1): Step {
    // Only what fails is checked again: `isKey` and `isCost` are short enough to be inlined.
    if (!isKey(key)) checkKey(key);
    if (!isCost(cost)) checkCost(cost);
    const { countedAs, rule, onStoreError } = this;
    return { op, limiter: countedAs, key, rule, cost, binding: true, onStoreError };
  }

  /** What `then` makes of the answers; a failure behind them is told. */
  private told<Value>(
    answers: Eventually<readonly Answer[]>,
    then: (answers: readonly Answer[]) => Value,
  ): Eventually<Value> {
    if (isLater(answers)) return answers.then((value) => this.told(value, then) as Value);
    // One will do: those of a group that failed, failed for one reason.
    const error = answers.find(({ failure }) => failure)?.failure;
    if (error) this.fault?.({ limiter: this.name, source: 'store', error });
    return then(answers);
  }

  /** The decision on a step that was to be charged. */
  private charged(step: Step, answer: Answer): Decision {
    if (!answer.allowed || answer.failure) return this.chargedElsewhere(step, answer);
    const numbers = measure(step.rule, answer, step.cost);
    return new GrantedDecision('allowed', numbers, this.policy, step, answer);
  }

  /** {@link charged} for a refusal, and for what the stand-in has charged. */
  private chargedElsewhere(step: Step, answer: Answer): Decision {
    const decision = decide(this.name, step, answer, this.policy);
    return answer.allowed && answer.standIn
      ? new GrantedDecision(decision.outcome, decision, this.policy, step, answer)
      : decision;
  }
}

/** The cost, if one is given. It stands in an object: other libraries take it alone, and here it would count as 1. */
function costOf(options: CostOptions | undefined): number | undefined {
  if (options === undefined) return undefined;
  if (isPlainObject(options)) return options.cost;
  throw mustBe('options', 'an object such as { cost: 2 }', options, 'SPW_COST_INVALID');
}
