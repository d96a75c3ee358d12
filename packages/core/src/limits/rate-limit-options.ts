/** The options of the request rate limiter, checked. */

import { checkOptions } from '../base/check-shapes.js';
import { checkCallback, checkCost } from '../base/checks.js';
import type { Duration } from '../base/duration.js';
import { mustBe } from '../base/errors.js';
import type { NamesOf } from '../base/option-names.js';
import type { Mode } from '../contract/decision.js';
import type { RequestOutcome } from '../contract/limiter.js';
import type { KeyOption, LimitRequest, Per, PerLater, PlanOption } from '../contract/request.js';
import { type Anchor, capacityOf, type RateAlgorithm, type Rule } from '../contract/rule.js';
import { checkKeyOption, checkStoreError, type StoreErrorOptions } from './limiter-options.js';

/** Options of {@link rateLimit}. */
export interface RateLimitOptions<Raw = unknown> extends StoreErrorOptions {
  /**
   * Identifies the limit in headers, problem bodies, metrics and the store: 1 to 64 printable ASCII characters.
   * Required when the guard is given a store. Default: the numbers, as in `100-per-1m`.
   */
  readonly name?: string | undefined;
  /** Units per window: an integer from 1 to 1,000,000,000. */
  readonly limit: number;
  /**
   * Looks up the numbers of the caller's plan, which replace the declared ones: `limit`, `window`, `burst`, and a
   * `name` for metrics. May be async. The declared numbers apply to callers without a plan, and when the function
   * fails, is late or returns wrong numbers: declare the smallest plan. A plan with a limit of 0 lets nobody pass
   * (`never`), whatever is set live, and asks no store.
   */
  readonly plan?: PlanOption<Raw> | undefined;
  /** `'1m'`, or milliseconds: from 1 ms to 400 days. */
  readonly window: Duration;
  /** Units at once, for `tokenBucket` only. Default: the limit. */
  readonly burst?: number | undefined;
  /** How units come back: `tokenBucket` (default), `fixedWindow`, `slidingWindow` or `slidingLog`, each imported. */
  readonly algorithm?: RateAlgorithm | undefined;
  /** Where windows of `fixedWindow` begin: at the epoch, or with the first request of a key. Default `epoch`. */
  readonly anchor?: Anchor | undefined;
  /**
   * What is counted apart: a user, a tenant, an API key, or a list of such as in `[tenant, user]`; the function may be
   * async. Default, and where it or a part is empty, it is longer than 8,192 units or fails: the client's address.
   */
  readonly key?: KeyOption<Raw> | undefined;
  /** Units one request takes, an integer from 0, or a function of the request, which may be async. Default 1. */
  readonly cost?: PerLater<Raw, number> | undefined;
  /** `enforce` (default), `shadow` (counts, refuses nobody) or `off` (kill switch). */
  readonly mode?: Per<Raw, Mode> | undefined;
  /**
   * Roll-out: the share of keys for which the limit is enforced, 0 to 1, always the same ones; for the others it is in
   * shadow. Default 1.
   */
  readonly share?: number | undefined;
  /**
   * After the response: whether to give the cost back. `(_, { status = 500, aborted }) => status < 400 && !aborted`
   * counts failures only; beware that a client can go away before it is answered. The request is the one that was
   * judged: where its `raw` leads to what a handler found out, such as `res.locals`, it can say what the status does
   * not. Only `true`, or a promise of it, gives back; anything but `true`, `false` and `undefined` is a fault.
   */
  readonly refundIf?:
    | ((
        request: LimitRequest<Raw>,
        outcome: RequestOutcome,
      ) => boolean | undefined | PromiseLike<boolean | undefined>)
    | undefined;
}

const NAMES: NamesOf<RateLimitOptions> = {
  name: 1,
  limit: 1,
  plan: 1,
  window: 1,
  burst: 1,
  algorithm: 1,
  anchor: 1,
  key: 1,
  cost: 1,
  mode: 1,
  share: 1,
  refundIf: 1,
  onStoreError: 1,
  localShare: 1,
};

/** @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN` */
export function checkRateLimit<Raw>(options: RateLimitOptions<Raw>): void {
  checkOptions(options, 'rateLimit()', NAMES);
}

/** @throws SpillwayError `SPW_KEY_INVALID`, `SPW_COST_INVALID`, `SPW_OPTION_INVALID` */
export function checkConstants<Raw>(options: RateLimitOptions<Raw>): void {
  const { cost, refundIf, plan } = options;
  checkKeyOption(options.key);
  checkStoreError(options);
  if (cost !== undefined && typeof cost !== 'function') checkCost(cost);
  checkCallback('refundIf', refundIf);
  checkCallback('plan', plan);
}

/**
 * A constant cost that the rule could never let pass is a mistake, which would otherwise refuse every request.
 *
 * @throws SpillwayError `SPW_COST_INVALID`
 */
export function checkCostPasses(cost: unknown, rule: Rule): void {
  const most = capacityOf(rule);
  if (typeof cost !== 'number' || cost <= most) return;
  const bound = `at most ${most}, the most that passes at once`;
  throw mustBe('cost', bound, cost, 'SPW_COST_INVALID');
}
