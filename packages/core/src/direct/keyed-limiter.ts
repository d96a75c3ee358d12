/** A limit without HTTP: consume, peek, refund and reset by key. */

import { checkOptions } from '../base/check-shapes.js';
import { checkName } from '../base/checks.js';
import { mustBe, SpillwayError } from '../base/errors.js';
import type { Eventually } from '../base/host.js';
import type { Answer } from '../contract/answer.js';
import { bindingOf } from '../contract/binding.js';
import type { Decision } from '../contract/decision.js';
import type { Rule } from '../contract/rule.js';
import type { Op, Step, Store } from '../contract/store.js';
import { nameOf, ruleFrom } from '../limits/rule-options.js';
import type { MemoryStore } from '../memory/memory-store.js';
import { askAll, askedOf } from './asked.js';
import { checkSettings } from './check-settings.js';
import { checkDecision, DirectClient } from './direct-client.js';
import { costIn, type Limit } from './limit.js';
import {
  type CostOptions,
  type GroupDecision,
  type KeyedLimiter,
  type KeyedLimiterOptions,
  LIMITER_OPTIONS,
  type LimiterOptions,
  SETTINGS,
} from './options.js';

/**
 * Makes a limit that is asked by key, without HTTP.
 *
 * With a store that answers at once (the memory store) every method does too; with Redis each returns a promise, which
 * never rejects for a store that fails: `onStoreError` decides, and the decision's outcome is `error`.
 *
 * @throws SpillwayError `SPW_LIMIT_INVALID`, `SPW_WINDOW_INVALID`, `SPW_BURST_INVALID`, `SPW_ALGORITHM_INVALID`,
 * `SPW_NAME_INVALID`, `SPW_NAME_REQUIRED`, `SPW_NAME_CONFLICT`, `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`,
 * `SPW_OPTION_UNKNOWN`
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

class Keyed {
  readonly name: string;
  readonly rule: Rule;
  private readonly limit: Limit;
  private readonly client: DirectClient;

  constructor(options: LimiterOptions, settings: KeyedLimiterOptions<Store>) {
    checkOptions(options, 'createLimiter()', LIMITER_OPTIONS, ['its second argument', SETTINGS]);
    checkSettings(settings, 'createLimiter()', LIMITER_OPTIONS);
    this.rule = ruleFrom(options);
    if (settings.store && options.name === undefined) {
      throw new SpillwayError(
        'SPW_NAME_REQUIRED',
        'name is required with a store: it identifies the limit there, so that no other meets its counts',
      );
    }
    this.name = checkName(nameOf(options));
    this.client = new DirectClient([this.name], settings);
    this.limit = this.client.limit(this.name, this.rule, options);
    this.client.tellOf([[this.name, options.window]]);
  }

  consume(key: string, options?: CostOptions): Eventually<Decision> {
    const step = this.limit.step('take', key, costIn(options));
    const ruled = this.limit.ruled(key);
    if (ruled) return this.client.known(ruled);
    const now = this.client.store.askNow(step);
    return now ? this.limit.charged(step, now) : this.consumeLater(step);
  }

  private consumeLater(step: Step): Eventually<Decision> {
    const known = this.client.store.known(step);
    if (known) return this.client.known(this.limit.decide(step, known));
    return this.client.ask([step], ([answer]) => this.limit.charged(step, answer as Answer));
  }

  peek(
    keys: string | readonly string[],
    options?: CostOptions,
  ): Eventually<Decision | GroupDecision> {
    if (Array.isArray(keys)) return this.askAll('look', keys, options);
    const step = this.limit.step('look', keys as string, costIn(options));
    const ruled = this.limit.ruled(step.key);
    if (ruled) return this.client.known(ruled);
    return this.client.ask([step], ([answer]) => this.limit.decide(step, answer as Answer));
  }

  consumeAll(keys: readonly string[], options?: CostOptions): Eventually<GroupDecision> {
    return this.askAll('take', keys, options);
  }

  record(keys: string | readonly string[], options?: CostOptions): Eventually<GroupDecision> {
    return this.askAll('record', typeof keys === 'string' ? [keys] : keys, options);
  }

  refund(decision: Decision, options?: CostOptions): Eventually<boolean> {
    checkDecision(decision);
    return this.client.refund([this.limit.giveBack(decision, costIn(options))]);
  }

  reset(key: string): Eventually<boolean> {
    return this.client.reset(this.limit.step('reset', key));
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
      const step = this.limit.step(op, key, costIn(options));
      costs.set(key, Math.min((costs.get(key) ?? 0) + step.cost, Number.MAX_SAFE_INTEGER));
    }
    const asked = [...costs].map(([key, cost]) => askedOf(this.limit, op, key, cost));
    return askAll(this.client, asked, (own, allowed) => {
      const byKey = new Map(own.map((decision, at) => [asked[at]?.step.key, decision]));
      const decisions = keys.map((key) => byKey.get(key) as Decision);
      return { allowed, binding: bindingOf(decisions), decisions };
    });
  }
}
