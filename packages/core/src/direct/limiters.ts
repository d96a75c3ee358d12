/** Several limits without HTTP, each with numbers and keys of its own, asked as one decision. */

import { checkObject, checkOptions } from '../base/check-shapes.js';
import { checkName, isPlainObject } from '../base/checks.js';
import { mustBe } from '../base/errors.js';
import type { Eventually } from '../base/host.js';
import { bindingOf } from '../contract/binding.js';
import type { Decision } from '../contract/decision.js';
import type { Rule } from '../contract/rule.js';
import type { Op, Store } from '../contract/store.js';
import { type RuleOptions, ruleFrom } from '../limits/rule-options.js';
import type { MemoryStore } from '../memory/memory-store.js';
import { type Asked, askAll, withKnown } from './asked.js';
import { checkSettings } from './check-settings.js';
import { checkDecision, DirectClient } from './direct-client.js';
import type {
  AlternativeDecision,
  LimitCosts,
  Limiters,
  LimitersDecision,
} from './limiters-options.js';
import { NamedLimits } from './named-limits.js';
import { type KeyedLimiterOptions, RULE_OPTIONS, SETTINGS } from './options.js';

/**
 * Makes several limits that are asked together, without HTTP: one decision over limits with different numbers and keys,
 * all or nothing, in one call of the store. The names of the limits are their names in the store.
 *
 * With a store that answers at once (the memory store) every method does too; with Redis each returns a promise, which
 * never rejects for a store that fails: `onStoreError` decides, and the decisions' outcome is `error`.
 *
 * @throws SpillwayError `SPW_LIMIT_INVALID`, `SPW_WINDOW_INVALID`, `SPW_BURST_INVALID`, `SPW_ALGORITHM_INVALID`,
 * `SPW_NAME_INVALID`, `SPW_NAME_CONFLICT`, `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts run
 * import { createLimiters } from '@spillway/core';
 *
 * const sending = createLimiters({
 *   customer: { limit: 100, window: '1h' },
 *   carrier: { limit: 2, window: '1s' },
 * });
 *
 * const sent = sending.consume({ customer: 'c1', carrier: 'x' }, { cost: { carrier: 2 } });
 * sent.allowed; // true
 * sent.decisions.customer.remaining; // 99
 *
 * const next = sending.consumeFirst([
 *   { customer: 'c1', carrier: 'x' },
 *   { customer: 'c1', carrier: 'y' },
 * ]);
 * next.alternative; // 1
 * sending.refund(next); // true
 * ```
 */
export function createLimiters<Name extends string, S extends Store = MemoryStore>(
  limits: { readonly [Of in Name]: RuleOptions },
  settings: KeyedLimiterOptions<S> = {},
): Limiters<Name, S> {
  return new Several(limits, settings) as unknown as Limiters<Name, S>;
}

const SECOND = ['its second argument', SETTINGS] as const;

type Costs = LimitCosts<string>;
type Group = LimitersDecision<string>;

class Several {
  readonly rules: Readonly<Record<string, Rule>>;
  private readonly client: DirectClient;
  private readonly limits: NamedLimits;

  constructor(limits: Readonly<Record<string, RuleOptions>>, settings: KeyedLimiterOptions<Store>) {
    checkObject('limits', limits);
    checkSettings(settings, 'createLimiters()', RULE_OPTIONS);
    const declared = Object.entries(limits).map(([name, options]) => {
      checkOptions(options, `limit "${name}" of createLimiters()`, RULE_OPTIONS, SECOND);
      return [checkName(name), ruleFrom(options), options] as const;
    });
    if (declared.length === 0) throw mustBe('limits', 'an object of at least one limit', limits);
    this.rules = Object.fromEntries(declared.map(([name, rule]) => [name, rule]));
    this.client = new DirectClient(
      declared.map(([name]) => name),
      settings,
    );
    const made = declared.map((one) => this.client.limit(...one));
    this.limits = new NamedLimits(made);
    this.client.tellOf(Object.entries(limits).map(([name, { window }]) => [name, window]));
  }

  consume(keys: unknown, options?: Costs): Eventually<Group> {
    return this.askAll('take', keys, options);
  }

  record(keys: unknown, options?: Costs): Eventually<Group> {
    return this.askAll('record', keys, options);
  }

  peek(keys: unknown, options?: Costs): Eventually<Group> {
    return this.askAll('look', keys, options);
  }

  consumeFirst(given: unknown, options?: Costs): Eventually<AlternativeDecision<string>> {
    return this.takeFirst(this.limits.alternatives(given, options), []);
  }

  /** @param refused what the alternatives before said */
  private takeFirst(
    alternatives: readonly (readonly Asked[])[],
    refused: readonly Group[],
  ): Eventually<AlternativeDecision<string>> {
    const at = refused.length;
    const asked = alternatives[at];
    if (!asked) return { ...soonest(refused), alternative: -1 };
    return askAll(this.client, withKnown(this.client, asked), (decisions, allowed) => {
      const group = groupDecision(decisions, allowed);
      if (allowed) return { ...group, alternative: at };
      return this.takeFirst(alternatives, [...refused, group]);
    });
  }

  refund(decision: Pick<Group, 'decisions'>, options?: Costs): Eventually<boolean> {
    checkDecision(decision);
    const { decisions } = decision;
    if (!isPlainObject(decisions)) throw mustBe('decision', 'what consume answers', decision);
    const costOf = this.limits.costs(options, Object.keys(decisions));
    const given = Object.entries(decisions);
    // All before the first is given back: a decision can be given back once.
    for (const [, one] of given) checkDecision(one);
    return this.client.refund(
      given.map(([name, one]) => this.limits.get(name)?.giveBack(one, costOf(name))),
    );
  }

  private askAll(op: Op, keys: unknown, options: Costs | undefined): Eventually<Group> {
    return askAll(this.client, this.limits.ask(op, keys, options), groupDecision);
  }
}

/** `allowed`: whether the group passes. */
function groupDecision(decisions: readonly Decision[], allowed: boolean): Group {
  const named = decisions.map((decision): [string, Decision] => [decision.limiter, decision]);
  return { allowed, binding: bindingOf(decisions), decisions: Object.fromEntries(named) };
}

/** Of alternatives that are refused, the one that passes first if nobody else comes. */
function soonest(groups: readonly Group[]): Group {
  return groups.reduce((best, group) => (waitOf(group) < waitOf(best) ? group : best));
}

/** How long no limit of it may pass; nobody knows while the store does not answer. */
function waitOf({ decisions }: Group): number {
  const waits = Object.values(decisions).map(({ retryAfterMs }) => retryAfterMs);
  const wait = Math.max(...waits);
  return Number.isNaN(wait) ? Infinity : wait;
}
