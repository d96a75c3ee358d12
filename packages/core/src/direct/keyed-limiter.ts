import { checkOptions } from '../base/check-shapes.js';
import { checkCost, checkName } from '../base/checks.js';
import { mustBe, SpillwayError } from '../base/errors.js';
import type { Eventually } from '../base/host.js';
import { bindingOf, type Decision } from '../contract/decision.js';
import type { StoredLimiter } from '../contract/limiter.js';
import { meteredOf } from '../contract/metered-cost.js';
import type { Rule } from '../contract/rule.js';
import type { Op, Store } from '../contract/store.js';
import type { StoreErrorOptions } from '../limits/limiter-options.js';
import { nameOf, ruleFrom } from '../limits/rule-options.js';
import type { MemoryStore } from '../memory/memory-store.js';
import {
  checkDecision,
  checkModeAndShare,
  checkSettings,
  costIn,
  DirectClient,
  type Limit,
} from './direct-client.js';
import {
  type CostOptions,
  type GroupDecision,
  type KeyedLimiter,
  type KeyedLimiterOptions,
  LIMITER_OPTIONS,
  type LimiterOptions,
  type MeteredLimiter,
  type MeteredLimiterOptions,
  SETTINGS,
} from './limiter-options.js';

/**
 * Creates a limiter that you call with keys, without HTTP.
 *
 * It also accepts a limiter of `rateLimit` in place of options, so that requests and jobs share one count. The numbers,
 * mode and share of that limiter apply; its mode must not be a function. Its `onStoreError` and `localShare` apply
 * unless the second argument sets them. Its `key` and `refundIf` are ignored, and you pass `cost` and `plan` with each
 * call. Give the limiter a name, and use the same store for the guard and for this function.
 *
 * With the memory store all methods are synchronous. With Redis they return promises. If the store fails, the promise
 * doesn't reject: `onStoreError` decides, and the decision's outcome is `error`.
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
export function createLimiter<Usage, S extends Store = MemoryStore>(
  options: MeteredLimiterOptions<Usage>,
  settings?: KeyedLimiterOptions<S>,
): MeteredLimiter<S, Usage>;
export function createLimiter<S extends Store = MemoryStore>(
  options: LimiterOptions | StoredLimiter<never>,
  settings?: KeyedLimiterOptions<S>,
): KeyedLimiter<S>;
export function createLimiter(
  options: LimiterOptions | StoredLimiter<never>,
  settings: KeyedLimiterOptions<Store> = {},
): unknown {
  return new Keyed(options, settings);
}

class Keyed {
  readonly name: string;
  readonly rule: Rule;
  private readonly limit: Limit;
  private readonly client: DirectClient;
  private readonly isPlain: boolean;

  constructor(
    given: LimiterOptions | StoredLimiter<never>,
    givenSettings: KeyedLimiterOptions<Store>,
  ) {
    const [options, settings] = isLimiter(given)
      ? fromGuard(given, givenSettings)
      : [given, givenSettings];
    const metered = meteredOf((options as Partial<MeteredLimiterOptions<never>>)?.cost);
    const names: object = metered ? { ...LIMITER_OPTIONS, cost: 1 } : LIMITER_OPTIONS;
    checkOptions<object>(options, 'createLimiter()', names, ['its second argument', SETTINGS]);
    checkSettings(settings, 'createLimiter()', SETTINGS, LIMITER_OPTIONS);
    this.rule = ruleFrom(options);
    if (settings.store && options.name === undefined) {
      throw new SpillwayError(
        'SPW_NAME_REQUIRED',
        'name is required with a store: it keeps the counts of this limit apart from those of others',
      );
    }
    this.name = checkName(nameOf(options));
    checkModeAndShare(options);
    this.client = new DirectClient([this.name], settings);
    this.limit = this.client.limit(this.name, this.rule, options);
    this.isPlain = this.limit.isPlain && !this.rule.logic.complete;
    metered?.extend(this, this.limit, this.client);
    this.client.tellOf([this.limit]);
  }

  consume(key: string, options?: CostOptions): Eventually<Decision> {
    // Fast path. Without a mode, share, control, plan, calendar or `distinct()`, the pipeline would do the same, but a
    // decision in memory would take a third longer, and a rejection twice as long.
    if (this.isPlain && !options?.plan) {
      const step = this.limit.step('take', key, costIn(options));
      const now = this.client.store.link.askNow(step);
      if (now) return this.client.tell(this.limit.decide(step, now), key);
    }
    return this.decideOne('take', key, options);
  }

  peek(
    keys: string | readonly string[],
    options?: CostOptions,
  ): Eventually<Decision | GroupDecision> {
    return Array.isArray(keys)
      ? this.decideAll('look', keys, options)
      : this.decideOne('look', keys as string, options);
  }

  consumeAll(keys: readonly string[], options?: CostOptions): Eventually<GroupDecision> {
    return this.decideAll('take', keys, options);
  }

  record(keys: string | readonly string[], options?: CostOptions): Eventually<GroupDecision> {
    return this.decideAll('record', typeof keys === 'string' ? [keys] : keys, options);
  }

  refund(decision: Decision, options?: CostOptions): Eventually<boolean> {
    checkDecision(decision);
    return this.client.refund([this.limit.giveBack(decision, costIn(options))]);
  }

  reset(key: string): Eventually<boolean> {
    return this.client.reset(this.limit.step('reset', key));
  }

  private decideOne(op: Op, key: string, options?: CostOptions): Eventually<Decision> {
    const { limit } = this;
    const part = limit.part(op, key, costIn(options), limit.settings(), options);
    return this.client.decide([part], op, ([decision]) => decision as Decision);
  }

  private decideAll(
    op: Op,
    given: readonly string[],
    options?: CostOptions,
  ): Eventually<GroupDecision> {
    if (!Array.isArray(given) || given.length === 0) {
      throw mustBe('keys', 'a list of at least one key', given, 'SPW_KEY_INVALID');
    }
    const keys: readonly string[] = [...given]; // the caller may reuse its list before the store answers
    const { limit } = this;
    const units = costIn(options);
    const cost = units === undefined ? 1 : checkCost(units);
    const costs = new Map<string, number>();
    for (const key of keys) {
      costs.set(key, Math.min((costs.get(key) ?? 0) + cost, Number.MAX_SAFE_INTEGER));
    }
    const settings = limit.settings();
    const parts = [...costs].map(([key, sum]) => limit.part(op, key, sum, settings, options));
    return this.client.decide(parts, op, (own, allowed) => {
      const byKey = new Map([...costs.keys()].map((key, at) => [key, own[at] as Decision]));
      const decisions = keys.map((key) => byKey.get(key) as Decision);
      return { allowed, binding: bindingOf(decisions), decisions };
    });
  }
}

/** Whether the argument is a limiter; `instanceof` would fail for one of another copy of this package. */
function isLimiter(given: LimiterOptions | StoredLimiter<never>): given is StoredLimiter<never> {
  return typeof (given as Partial<StoredLimiter> | undefined)?.decide === 'function';
}

/**
 * The options of a guard's limiter that apply without a request. Options in the second argument take precedence.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
function fromGuard(
  limiter: StoredLimiter<never>,
  settings: KeyedLimiterOptions<Store>,
): [LimiterOptions, KeyedLimiterOptions<Store>] {
  if (!limiter.rateOptions) {
    throw mustBe(
      'the first argument of createLimiter()',
      'options, or made by rateLimit()',
      limiter,
    );
  }
  const options = limiter.rateOptions as LimiterOptions & StoreErrorOptions;
  const numbers = Object.keys(LIMITER_OPTIONS) as (keyof LimiterOptions)[];
  const { onStoreError = options.onStoreError, localShare = options.localShare } = settings;
  const { cost } = options as Partial<MeteredLimiterOptions<never>>;
  const own = Object.fromEntries(numbers.map((name) => [name, options[name]]));
  return [
    (meteredOf(cost) ? { ...own, cost } : own) as unknown as LimiterOptions,
    { ...settings, onStoreError, localShare },
  ];
}
