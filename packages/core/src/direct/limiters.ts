import { MAX_STEPS, tooLarge } from '../algorithms/group.js';
import { checkObject, checkOptions } from '../base/check-shapes.js';
import { checkCost, checkName, isPlainObject } from '../base/checks.js';
import { mustBe, SpillwayError, type SpillwayErrorCode, show } from '../base/errors.js';
import { type Eventually, isLater } from '../base/host.js';
import type { BillingPeriod } from '../contract/calendar.js';
import type { LimiterSettings } from '../contract/control.js';
import { bindingOf, type Decision } from '../contract/decision.js';
import type { Plan } from '../contract/request.js';
import type { Items, Rule } from '../contract/rule.js';
import type { Op, Store } from '../contract/store.js';
import type { RateLimitHeaders } from '../http/rate-limit-headers.js';
import { ruleFrom } from '../limits/rule-options.js';
import type { MemoryStore } from '../memory/memory-store.js';
import {
  checkDecision,
  checkModeAndShare,
  checkSettings,
  costIn,
  DirectClient,
  type KeyedPart,
  type Limit,
} from './direct-client.js';
import { LIMIT_OPTIONS, type LimitOptions } from './limiter-options.js';
import {
  type AlternativeDecision,
  LIMITERS_OPTIONS,
  type LimitCosts,
  type Limiters,
  type LimitersDecision,
  type LimitersOptions,
} from './limiters-options.js';

/**
 * Creates several limits that decide together, without HTTP. `consume` charges all limits in the call or none of them,
 * in one store call (with Redis Cluster, one for each hash slot). The limits can have different numbers and keys. The
 * name of each limit is its name in the store.
 *
 * With the memory store all methods are synchronous. With Redis they return promises. If the store fails, the promise
 * doesn't reject: `onStoreError` decides, and the outcome of the decisions is `error`.
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
  limits: { readonly [Of in Name]: LimitOptions },
  settings: LimitersOptions<S> = {},
): Limiters<Name, S> {
  return new Several(limits, settings) as unknown as Limiters<Name, S>;
}

const SECOND = ['its second argument', LIMITERS_OPTIONS] as const;

type Costs = LimitCosts<string>;
type Group = LimitersDecision<string>;
type CostOf = (name: string) => number | undefined;

interface Asked {
  readonly costOf: CostOf;
  readonly plans: ReadonlyMap<string, Plan | null | undefined>;
  readonly periods: ReadonlyMap<string, BillingPeriod | undefined>;
  readonly items: ReadonlyMap<string, Items>;
  readonly settings: ReadonlyMap<string, LimiterSettings | undefined>;
}

class Several {
  readonly rules: Readonly<Record<string, Rule>>;
  private readonly client: DirectClient;
  private readonly limits: ReadonlyMap<string, Limit>;
  private readonly headers: RateLimitHeaders | undefined;

  constructor(limits: Readonly<Record<string, LimitOptions>>, settings: LimitersOptions<Store>) {
    checkObject('limits', limits);
    checkSettings(settings, 'createLimiters()', LIMITERS_OPTIONS, LIMIT_OPTIONS);
    if (settings.headers !== undefined && typeof settings.headers !== 'function') {
      throw mustBe('headers', 'made by rateLimitHeaders()', settings.headers);
    }
    this.headers = settings.headers;
    const declared = Object.entries(limits).map(([name, options]) => {
      checkOptions(options, `limit "${name}" of createLimiters()`, LIMIT_OPTIONS, SECOND);
      checkModeAndShare(options);
      return [checkName(name), ruleFrom(options), options] as const;
    });
    if (declared.length === 0) throw mustBe('limits', 'an object of at least one limit', limits);
    this.rules = Object.fromEntries(declared.map(([name, rule]) => [name, rule]));
    this.client = new DirectClient(
      declared.map(([name]) => name),
      settings,
    );
    const made = declared.map((one) => this.client.limit(...one));
    this.limits = new Map(made.map((limit) => [limit.name, limit]));
    this.client.tellOf(made);
  }

  consume(keys: unknown, options?: Costs): Eventually<Group> {
    return this.decideAll('take', keys, options);
  }

  record(keys: unknown, options?: Costs): Eventually<Group> {
    return this.decideAll('record', keys, options);
  }

  peek(keys: unknown, options?: Costs): Eventually<Group> {
    return this.decideAll('look', keys, options);
  }

  consumeFirst(given: unknown, options?: Costs): Eventually<AlternativeDecision<string>> {
    return this.takeFirst(this.alternatives(given, options), []);
  }

  private takeFirst(
    alternatives: readonly (readonly KeyedPart[])[],
    rejected: Group[],
  ): Eventually<AlternativeDecision<string>> {
    // A loop: with a synchronous store, a recursive call for each alternative could overflow the stack.
    for (;;) {
      const alternative = rejected.length;
      const parts = alternatives[alternative];
      if (!parts) {
        const soonest = rejected.reduce((best, one) => (waitOf(one) < waitOf(best) ? one : best));
        return { ...soonest, alternative: -1 };
      }
      // One call for each alternative: choosing in one call would need 1,500 more lines in the stores.
      const taken = this.client.decide(parts, 'take', (decisions, allowed) => {
        const group = this.groupOf(parts, decisions, allowed);
        if (allowed) return { ...group, alternative };
        rejected.push(group);
        return undefined;
      });
      if (isLater(taken)) return taken.then((own) => own ?? this.takeFirst(alternatives, rejected));
      if (taken) return taken;
    }
  }

  refund(decision: Pick<Group, 'decisions'>, options?: Costs): Eventually<boolean> {
    checkDecision(decision);
    const { decisions } = decision;
    if (!isPlainObject(decisions)) throw mustBe('decision', 'what consume() returns', decision);
    const costOf = this.costs(options, Object.keys(decisions));
    const given = Object.entries(decisions);
    // Check all decisions before the first refund, because a refund can't be repeated.
    for (const [, one] of given) checkDecision(one);
    return this.client.refund(
      given.map(([name, one]) => this.limits.get(name)?.giveBack(one, costOf(name))),
    );
  }

  private decideAll(op: Op, keys: unknown, options: Costs | undefined): Eventually<Group> {
    const parts = this.partsWith(op, keys, this.asked(options, this.namesIn(keys)));
    return this.client.decide(parts, op, (decisions, allowed) =>
      this.groupOf(parts, decisions, allowed),
    );
  }

  private groupOf(
    parts: readonly KeyedPart[],
    decisions: readonly Decision[],
    allowed: boolean,
  ): Group {
    const binding = bindingOf(decisions);
    const named = decisions.map((decision): [string, Decision] => [decision.limiter, decision]);
    const group = { allowed, binding, decisions: Object.fromEntries(named) };
    if (!this.headers) return { ...group, headers: [] };
    const decided = parts.map(({ mode }, at) => ({ mode, decision: decisions[at] as Decision }));
    return { ...group, headers: this.headers(decided, allowed ? undefined : binding) };
  }

  private alternatives(
    given: unknown,
    options: Costs | undefined,
  ): readonly (readonly KeyedPart[])[] {
    if (!Array.isArray(given) || given.length === 0) {
      throw mustBe('alternatives', 'a list of at least one', given, 'SPW_ALTERNATIVES_INVALID');
    }
    if (given.length > MAX_STEPS) throw tooLarge();
    const names = this.namesIn(given[0]);
    const asked = this.asked(options, names);
    // Not `given.map`, which skips the holes of a sparse array.
    return Array.from(given, (keys: unknown, at) => {
      const own = this.namesIn(keys);
      if (own.length === names.length && own.every((name) => names.includes(name))) {
        return this.partsWith('take', keys, asked);
      }
      throw new SpillwayError(
        'SPW_ALTERNATIVES_INVALID',
        `all alternatives must name the same limits: the first names ${names.join(', ')}, number ${at + 1} ${own.join(', ')}`,
      );
    });
  }

  private namesIn(keys: unknown): readonly string[] {
    const names = isPlainObject(keys) ? Object.keys(keys) : [];
    if (names.length === 0) {
      const what = 'an object with a key for each limit to check';
      throw mustBe('keys', what, keys, 'SPW_KEY_INVALID');
    }
    for (const name of names) if (!this.limits.has(name)) throw this.unknown(name);
    return names;
  }

  private costs(options: Costs | undefined, names: readonly string[]): CostOf {
    const cost = costIn(options);
    if (!isPlainObject(cost)) {
      if (cost !== undefined) checkCost(cost);
      return () => cost;
    }
    const own = named<number | undefined>('cost', cost, names, 'SPW_COST_INVALID');
    for (const units of own.values()) if (units !== undefined) checkCost(units);
    return (name) => own.get(name);
  }

  private partsWith(
    op: Op,
    keys: unknown,
    { costOf, plans, periods, items, settings }: Asked,
  ): KeyedPart[] {
    return Object.entries(keys as Readonly<Record<string, string>>).map(([name, key]) => {
      const limit = this.limits.get(name) as Limit;
      return limit.part(op, key, costOf(name), settings.get(name), {
        cost: costOf(name),
        plan: plans.get(name),
        period: periods.get(name),
        // Left out if not given: `distinct()` treats a missing item differently from undefined.
        ...(items.has(name) && { item: items.get(name) }),
      });
    });
  }

  private asked(options: Costs | undefined, names: readonly string[]): Asked {
    return {
      costOf: this.costs(options, names),
      plans: named('plan', options?.plan ?? {}, names, 'SPW_OPTION_INVALID'),
      periods: named('period', options?.period ?? {}, names, 'SPW_OPTION_INVALID'),
      items: named('item', options?.item ?? {}, names, 'SPW_OPTION_INVALID'),
      settings: new Map(names.map((name) => [name, this.limits.get(name)?.settings()])),
    };
  }

  private unknown(name: string): SpillwayError {
    const known = [...this.limits.keys()].join(', ');
    return new SpillwayError(
      'SPW_KEY_INVALID',
      `keys must name limits that exist (${known}), got ${show(name)}`,
    );
  }
}

/** How long until all limits of the group that enforce could pass; Infinity if the store doesn't answer. */
function waitOf({ decisions }: Group): number {
  const waits = Object.values(decisions).map(({ allowed, retryAfterMs }) =>
    allowed ? 0 : retryAfterMs,
  );
  const wait = Math.max(...waits);
  return Number.isNaN(wait) ? Infinity : wait;
}

function named<Value>(
  option: string,
  given: Readonly<Record<string, Value>>,
  names: readonly string[],
  code: SpillwayErrorCode,
): ReadonlyMap<string, Value> {
  if (!isPlainObject(given)) throw mustBe(option, 'an object by the names of limits', given, code);
  for (const name of Object.keys(given)) {
    if (names.includes(name)) continue;
    throw mustBe(option, `for limits in this call (${names.join(', ')})`, name, code);
  }
  return new Map(Object.entries(given));
}
