import type { NamesOf } from '../base/option-names.js';
import type { BillingPeriod } from '../contract/calendar.js';
import type { Decision } from '../contract/decision.js';
import type { Header, Plan } from '../contract/request.js';
import type { Items, Rule } from '../contract/rule.js';
import type { Store } from '../contract/store.js';
import type { RateLimitHeaders } from '../http/rate-limit-headers.js';
import {
  type CostOptions,
  type GroupDecision,
  type KeyedLimiterOptions,
  SETTINGS,
  type Timely,
} from './limiter-options.js';

/** A key for each limit to check, by the names of the limits. */
export type LimitKeys<Name extends string> = { readonly [Of in Name]: string };

/** Options of a call to several limits. */
export interface LimitCosts<Name extends string> {
  /**
   * The units for all limits in the call, or for some of them by name: integers from 0. Default 1; for `refund`, all
   * units of the charges.
   */
  readonly cost?: number | { readonly [Of in Name]?: number | undefined } | undefined;
  /**
   * The plans of the keys, by the names of the limits: see {@link CostOptions.plan}. Default: none. `refund` ignores
   * plans.
   */
  readonly plan?: { readonly [Of in Name]?: Plan | null | undefined } | undefined;
  /** The billing periods of the keys, by the names of the limits: see {@link CostOptions.period}. */
  readonly period?: { readonly [Of in Name]?: BillingPeriod | undefined } | undefined;
  /** The items that the keys touch, by the names of the limits: see {@link CostOptions.item}. */
  readonly item?: { readonly [Of in Name]?: Items } | undefined;
}

/** The second argument of `createLimiters`. */
export interface LimitersOptions<S extends Store> extends KeyedLimiterOptions<S> {
  /** Adds response headers to each decision, as in `headers: rateLimitHeaders()`. Default: no headers. */
  readonly headers?: RateLimitHeaders | undefined;
}

export const LIMITERS_OPTIONS: NamesOf<LimitersOptions<Store>> = /* @__PURE__ */ Object.assign(
  {},
  SETTINGS,
  { headers: 1 } as const,
);

/** One decision by several limits. */
export interface LimitersDecision<Name extends string> extends Pick<GroupDecision, 'binding'> {
  /** Whether all limits pass. If not, `consume` has charged none. */
  readonly allowed: boolean;
  /**
   * One decision for each limit in the call, by name. If `consume` rejects a key without calling the store, such as a
   * blocked key, the limits that need the store are `skipped`.
   */
  readonly decisions: { readonly [Of in Name]: Decision };
  /** Headers for the response, if the option `headers` is set; otherwise empty. */
  readonly headers: readonly Header[];
}

/** The result of `consumeFirst`. */
export interface AlternativeDecision<Name extends string> extends LimitersDecision<Name> {
  /** The index of the charged alternative, from 0; -1 if none was charged. */
  readonly alternative: number;
  /**
   * The decisions of the charged alternative. If none was charged, the decisions of the alternative that could pass
   * soonest, after `binding.retryAfterMs`.
   */
  readonly decisions: { readonly [Of in Name]: Decision };
}

/**
 * Several limits that decide together; returned by `createLimiters`. Each call names one or more of the limits.
 *
 * Calls throw:
 *
 * - `SPW_KEY_INVALID` for a call without limits, for an unknown limit, and for a key that is not a string of 1 to 8,192
 *   UTF-16 units;
 * - `SPW_COST_INVALID` for a cost that is not an integer from 0, and for the cost of a limit that is not in the call;
 * - `SPW_OPTION_INVALID` for the plan, period or items of a limit that is not in the call;
 * - `SPW_OPTION_UNKNOWN` for an unknown option in a call without `cost`.
 */
export interface Limiters<Name extends string, S extends Store> {
  readonly rules: { readonly [Of in Name]: Rule };
  /** Charges all limits in the call, or none of them. */
  consume<Asked extends Name>(
    keys: LimitKeys<Asked>,
    options?: LimitCosts<Asked>,
  ): Timely<S, LimitersDecision<Asked>>;
  /**
   * Tries the alternatives in the given order, and charges all limits of the first that passes. Each attempt is a
   * separate store call with its own `storeTimeout`, unless it is rejected without calling the store, for example
   * because a key is blocked. An empty list, and alternatives that name different limits, throw
   * `SPW_ALTERNATIVES_INVALID`. More than 1,000 alternatives throw `SPW_GROUP_TOO_LARGE`.
   */
  consumeFirst<Asked extends Name>(
    alternatives: readonly LimitKeys<Asked>[],
    options?: LimitCosts<Asked>,
  ): Timely<S, AlternativeDecision<Asked>>;
  /**
   * Charges all limits in the call, whether they pass or not, except for keys that a live setting blocks or allows.
   * Returns the decision that `consume` would return.
   */
  record<Asked extends Name>(
    keys: LimitKeys<Asked>,
    options?: LimitCosts<Asked>,
  ): Timely<S, LimitersDecision<Asked>>;
  /** Returns the decision that `consume` would return, without charging. */
  peek<Asked extends Name>(
    keys: LimitKeys<Asked>,
    options?: LimitCosts<Asked>,
  ): Timely<S, LimitersDecision<Asked>>;
  /**
   * Refunds the charge of a `consume` or `consumeFirst` decision. `cost` caps the refunded units, for all limits or for
   * those that it names. Works once, in the store that was charged, and only for units that still count. Returns true
   * if anything was refunded.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID` for a decision that was not awaited
   */
  refund<Asked extends Name>(
    decision: Pick<LimitersDecision<Asked>, 'decisions'>,
    options?: LimitCosts<Asked>,
  ): Timely<S, boolean>;
}
