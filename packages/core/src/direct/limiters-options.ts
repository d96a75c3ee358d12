/** What can be asked of several limits at once, without HTTP. */

import type { NamesOf } from '../base/option-names.js';
import type { Decision } from '../contract/decision.js';
import type { Header, Plan } from '../contract/request.js';
import type { Rule } from '../contract/rule.js';
import type { Store } from '../contract/store.js';
import type { RateLimitHeaders } from '../http/rate-limit-headers.js';
import type { CostOptions, KeyedLimiterOptions, Timely } from './options.js';

/** A key for each limit that is asked, by the names of the limits. */
export type LimitKeys<Name extends string> = { readonly [Of in Name]: string };

/** What a call of several limits takes, beside keys. */
export interface LimitCosts<Name extends string> {
  /** Units of each limit that is asked, or of some by their names: integers from 0. Default 1. */
  readonly cost?: number | { readonly [Of in Name]?: number | undefined } | undefined;
  /**
   * The plan that a key of a limit has, by the names of the limits: see {@link CostOptions.plan}. Default: none. Of no
   * use to `refund`, which gives back what was charged.
   */
  readonly plan?: { readonly [Of in Name]?: Plan | null | undefined } | undefined;
}

/** The second argument of `createLimiters`. */
export interface LimitersOptions<S extends Store> extends KeyedLimiterOptions<S> {
  /**
   * Writes the headers of each decision, as in `headers: rateLimitHeaders()`: see {@link LimitersDecision.headers}.
   * Default: none are written.
   */
  readonly headers?: RateLimitHeaders | undefined;
}

export const LIMITERS_OPTIONS: NamesOf<LimitersOptions<Store>> = {
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
  headers: 1,
};

/** The answer of several limits, which is one decision. */
export interface LimitersDecision<Name extends string> {
  /** Whether every limit passes; if not, none was charged by `consume`. */
  readonly allowed: boolean;
  /**
   * The decision that counts: of those refused the one with the longest wait, else the one with the least remaining.
   */
  readonly binding: Decision;
  /**
   * One for each limit that was asked, by its name. Where one is rejected without the store, because its key is blocked
   * or in the denial cache, the others are `skipped`.
   */
  readonly decisions: { readonly [Of in Name]: Decision };
  /** What a server sends with its response, if the option `headers` is set; else nothing. */
  readonly headers: readonly Header[];
}

/** The answer of `consumeFirst`. */
export interface AlternativeDecision<Name extends string> extends LimitersDecision<Name> {
  /** Which alternative was charged, from 0; -1 if none was. */
  readonly alternative: number;
  /**
   * Of the alternative that was charged. If none was: of the one that passes soonest if nobody else comes, so that
   * `binding.retryAfterMs` is the wait until one does.
   */
  readonly decisions: { readonly [Of in Name]: Decision };
}

/**
 * Several limits that are asked together; what `createLimiters` returns. Each call names one or more of the limits.
 *
 * These throw: a name that is none of the limits, no name at all, and a key that is no text of 1 to 8,192 UTF-16 units
 * (`SPW_KEY_INVALID`); a cost that is no integer from 0, or is of a limit that is not asked (`SPW_COST_INVALID`); and
 * the plan of a limit that is not asked (`SPW_OPTION_INVALID`).
 */
export interface Limiters<Name extends string, S extends Store> {
  readonly rules: { readonly [Of in Name]: Rule };
  /** Charges every limit that is asked, or none of them. */
  consume<Asked extends Name>(
    keys: LimitKeys<Asked>,
    options?: LimitCosts<Asked>,
  ): Timely<S, LimitersDecision<Asked>>;
  /**
   * Tries the alternatives one after another, in the order given, and charges the first that passes: all its limits, or
   * none. Each one that is tried is a call of the store, with a `storeTimeout` of its own; one with a key that is known
   * to be rejected needs none. All must name the same limits, or `SPW_ALTERNATIVES_INVALID` is thrown; more than 1,000
   * alternatives throw `SPW_GROUP_TOO_LARGE`.
   */
  consumeFirst<Asked extends Name>(
    alternatives: readonly LimitKeys<Asked>[],
    options?: LimitCosts<Asked>,
  ): Timely<S, AlternativeDecision<Asked>>;
  /** Charges every limit that is asked, whether it passes or not; says what `consume` would have said. */
  record<Asked extends Name>(
    keys: LimitKeys<Asked>,
    options?: LimitCosts<Asked>,
  ): Timely<S, LimitersDecision<Asked>>;
  /** What `consume` would say, without charging. */
  peek<Asked extends Name>(
    keys: LimitKeys<Asked>,
    options?: LimitCosts<Asked>,
  ): Timely<S, LimitersDecision<Asked>>;
  /**
   * Gives back what a decision of `consume` or `consumeFirst` charged, in one call; with `cost` only so many units of
   * each limit, or of those that `cost` names, and of others all. Once, in the store that charged it, and no more than
   * still counts: true if anything was.
   */
  refund<Asked extends Name>(
    decision: Pick<LimitersDecision<Asked>, 'decisions'>,
    options?: LimitCosts<Asked>,
  ): Timely<S, boolean>;
}
