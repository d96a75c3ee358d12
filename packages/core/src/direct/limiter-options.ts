import type { NamesOf } from '../base/option-names.js';
import type { BillingPeriod } from '../contract/calendar.js';
import type { Decision, Mode } from '../contract/decision.js';
import type { MeteredCost, Reservation } from '../contract/metered-cost.js';
import type { DecisionEvent } from '../contract/observer.js';
import type { Plan } from '../contract/request.js';
import type { Items, Rule } from '../contract/rule.js';
import type { Store, SyncStore } from '../contract/store.js';
import type { RuleOptions } from '../limits/rule-options.js';
import type { StoreClientOptions } from '../stores/store-client.js';

/** Numbers and mode of one keyed limit. */
export interface LimitOptions extends RuleOptions {
  /** `enforce` (default), `shadow` (counts, rejects nobody) or `off` (kill switch). */
  readonly mode?: Mode | undefined;
  /**
   * For rollouts: the share of keys for which the limit is enforced, 0 to 1. Other keys are in shadow mode. Default 1.
   */
  readonly share?: number | undefined;
}

export interface LimiterOptions extends LimitOptions {
  /** Name in the store; required with a store. Default: the numbers, as in `100-per-1m`. */
  readonly name?: string | undefined;
}

/** Options of a limiter whose costs are known only after the work. */
export interface MeteredLimiterOptions<Usage = number> extends LimiterOptions {
  /** The return value of `cost()` of a `meter()`. */
  readonly cost: MeteredCost<never, Usage>;
}

export const LIMIT_OPTIONS: NamesOf<LimitOptions> = {
  limit: 1,
  window: 1,
  burst: 1,
  algorithm: 1,
  anchor: 1,
  penalty: 1,
  overage: 1,
  mode: 1,
  share: 1,
};

export const LIMITER_OPTIONS: NamesOf<LimiterOptions> = /* @__PURE__ */ Object.assign(
  { name: 1 } as const,
  LIMIT_OPTIONS,
);

/**
 * The second argument of `createLimiter` and `createLimiters`: the store, what to do if it fails, live settings, and
 * observers.
 */
export interface KeyedLimiterOptions<S extends Store> extends StoreClientOptions {
  /** Where counts live. Default: this process's memory, where each limiter object has separate counts. */
  readonly store?: S | undefined;
  /** This process's share of the limit with `onStoreError: 'local'`, above 0 up to 1. Default 1. */
  readonly localShare?: number | undefined;
  /** Called for every decision except those of `peek`. Hash the key before you log it: see {@link Observer}. */
  readonly onDecision?: ((event: DecisionEvent, key: string | undefined) => void) | undefined;
}

export const SETTINGS: NamesOf<KeyedLimiterOptions<Store>> = {
  store: 1,
  storeTimeout: 1,
  onStoreError: 1,
  localShare: 1,
  control: 1,
  breaker: 1,
  denialCache: 1,
  clock: 1,
  logger: 1,
  validate: 1,
  onDecision: 1,
  onFault: 1,
  observers: 1,
};

/** Options of a call to a limiter. */
export interface CostOptions {
  /** The units, an integer from 0. Default 1; for `refund`, all units of the charge. */
  readonly cost?: number | undefined;
  /**
   * The key's plan, whose numbers replace the declared ones; null means no plan. If its numbers are invalid, the
   * declared numbers apply and a fault is reported. A plan with other numbers may have a separate count: see "Which
   * rules share a count" in docs/algorithms.md.
   */
  readonly plan?: Plan | null | undefined;
  /** The key's billing period, for a limit whose `calendar()` is given a function. */
  readonly period?: BillingPeriod | undefined;
  /**
   * The items that the key touches, for a limit with `distinct()`: at most 100. Null and undefined mean no items. If
   * `item` is left out, `consume` and `record` count one unknown item and report a fault.
   */
  readonly item?: Items;
}

/** Options of a call to a limiter whose costs are known only after the work. */
export interface ReserveOptions extends Omit<CostOptions, 'cost'> {
  /** Units, or a reservation that `reserve()` of the meter returned. Default 1. */
  readonly cost?: number | Reservation | undefined;
}

/** A limiter whose costs are known only after the work. */
export interface MeteredLimiter<S extends Store, Usage> extends KeyedLimiter<S> {
  /**
   * Like {@link KeyedLimiter.consume}, but also accepts a reservation. Only the first `maxReserve` units of a
   * reservation can cause a rejection.
   */
  consume(key: string, options?: ReserveOptions): Timely<S, Decision>;
  /**
   * Corrects the charge to the real usage: charges the difference, or refunds it as far as the charged units still
   * count. Works once for each decision, and not after `refund`. Returns false if there was nothing to settle.
   *
   * @throws SpillwayError `SPW_COST_INVALID` for an invalid usage or price, `SPW_OPTION_INVALID` for a decision that
   * was not awaited
   */
  settle(decision: Decision, usage: Usage): Timely<S, boolean>;
}

/** One decision on several keys. */
export interface GroupDecision {
  /** Whether all keys pass. If not, `consumeAll` has charged none. */
  readonly allowed: boolean;
  /**
   * The rejection with the longest wait. Rejections with status 503 count only if there are no others. Without a
   * rejection, the decision with the least `remaining`.
   */
  readonly binding: Decision;
  /**
   * One decision for each key, in the given order. If a key is given twice, both entries are the decision on the summed
   * cost. If `consumeAll` rejects a key without calling the store, such as a blocked key, the keys that need the store
   * are `skipped`.
   */
  readonly decisions: readonly Decision[];
}

/** The value itself with a synchronous store, a promise of it with other stores. */
export type Timely<S extends Store, Value> = S extends SyncStore ? Value : Promise<Value>;

/**
 * A limit by key; returned by {@link createLimiter}. Methods throw `SPW_KEY_INVALID` for a key that is not a string of
 * 1 to 8,192 UTF-16 units and for an empty list of keys. They throw `SPW_COST_INVALID` for a cost that is not an
 * integer from 0, and `SPW_OPTION_UNKNOWN` for an unknown option in a call without `cost`.
 */
export interface KeyedLimiter<S extends Store> {
  readonly name: string;
  readonly rule: Rule;
  /**
   * Charges the cost if the key passes, as in `if ((await limiter.consume(key)).allowed)`. Always test `.allowed`: the
   * decision is an object and therefore truthy. Don't forget `await`: `.allowed` of a promise is `undefined`.
   */
  consume(key: string, options?: CostOptions): Timely<S, Decision>;
  /** Charges all keys, or none of them. More than 1,000 different keys throw `SPW_GROUP_TOO_LARGE`. */
  consumeAll(keys: readonly string[], options?: CostOptions): Timely<S, GroupDecision>;
  /**
   * Charges all keys, whether they pass or not, except those that a live setting blocks or allows. Returns the decision
   * that `consumeAll` would return, and throws the same errors.
   */
  record(keys: string | readonly string[], options?: CostOptions): Timely<S, GroupDecision>;
  /** Returns the decision that `consume` would return, without charging. */
  peek(key: string, options?: CostOptions): Timely<S, Decision>;
  /** Returns the decision that `consumeAll` would return, without charging. */
  peek(keys: readonly string[], options?: CostOptions): Timely<S, GroupDecision>;
  /**
   * Refunds the charge of a `consume` decision, or `cost` units of it. Works once, in the store that was charged, and
   * only for units that still count: not after the decision's `resetMs`, and not in another window. Returns true if
   * anything was refunded.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID` for a decision that was not awaited
   */
  refund(decision: Decision, options?: CostOptions): Timely<S, boolean>;
  /** Deletes the counts of a key, for all plans. Returns false if the store failed; the counts may then remain. */
  reset(key: string): Timely<S, boolean>;
}
