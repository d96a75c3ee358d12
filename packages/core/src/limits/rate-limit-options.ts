import { checkOptions } from '../base/check-shapes.js';
import { checkCallback, checkCost, oneOf } from '../base/checks.js';
import type { Duration } from '../base/duration.js';
import { mustBe } from '../base/errors.js';
import type { NamesOf } from '../base/option-names.js';
import type { Mode } from '../contract/decision.js';
import type { RequestOutcome } from '../contract/limiter.js';
import type { KeyOption, LimitRequest, Per, PerLater, PlanOption } from '../contract/request.js';
import {
  type CalendarWindow,
  capacityOf,
  type DistinctAlgorithm,
  type RateAlgorithm,
  type Rule,
} from '../contract/rule.js';
import { checkKeyOption, checkStoreError, type StoreErrorOptions } from './limiter-options.js';
import type { RuleOptions } from './rule-options.js';

/** Options of {@link rateLimit}. */
export interface RateLimitOptions<Raw = unknown> extends RuleOptions, StoreErrorOptions {
  /**
   * Name in headers, problem bodies, metrics and the store: 1 to 64 printable ASCII characters. Required with a store.
   * Default: the numbers, as in `100-per-1m`.
   */
  readonly name?: string | undefined;
  /** Units per window: an integer from 1 to 1,000,000,000. */
  readonly limit: number;
  /**
   * Returns the caller's plan: a `limit`, `window`, `burst`, and a `name` for metrics; may be async. If there is no
   * valid plan or the function fails, the declared numbers apply, so declare those of the smallest plan. A limit of 0
   * rejects every request; with `overage`, it admits every request.
   */
  readonly plan?: PlanOption<Raw> | undefined;
  /** A duration such as `'1m'`, from 1 ms to 400 days, or an imported `calendar('month')`. */
  readonly window: Duration | CalendarWindow<Raw>;
  /** `tokenBucket` (default) or an imported one, such as `slidingLog` or `distinct()`. */
  readonly algorithm?: RateAlgorithm | DistinctAlgorithm<Raw> | undefined;
  /** The HTTP status of requests above the limit. Default 429. */
  readonly status?: 402 | 403 | 429 | undefined;
  /**
   * Identifies the caller: a user, an API key, or a list such as `[tenant, user]`; may be async. Default: the client's
   * address. The address is also used if the key or a part of it is missing, empty or too long, or the function fails.
   */
  readonly key?: KeyOption<Raw> | undefined;
  /**
   * Units that a request costs: an integer from 0; may be async. If the function fails or returns an invalid cost, the
   * cost is 1. Default 1.
   */
  readonly cost?: PerLater<Raw, number> | undefined;
  /** `enforce` (default), `shadow` (counts, rejects nobody) or `off` (kill switch). */
  readonly mode?: Per<Raw, Mode> | undefined;
  /**
   * For rollouts: the share of keys for which the limit is enforced, 0 to 1. Other keys are in shadow mode. Default 1.
   */
  readonly share?: number | undefined;
  /** Called after the response. The cost is refunded only if the function returns `true`, or a promise of it. */
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
  penalty: 1,
  overage: 1,
  status: 1,
  key: 1,
  cost: 1,
  mode: 1,
  share: 1,
  refundIf: 1,
  onStoreError: 1,
  localShare: 1,
};

export function checkRateLimit<Raw>(options: RateLimitOptions<Raw>): void {
  checkOptions(options, 'rateLimit()', NAMES);
  const { cost, refundIf, plan, status } = options;
  checkKeyOption(options.key);
  checkStoreError(options);
  if (cost !== undefined && typeof cost !== 'function') checkCost(cost);
  checkCallback('refundIf', refundIf);
  checkCallback('plan', plan);
  oneOf('status', status, [402, 403, 429]);
}

/** Throws if a constant cost is more than the rule can ever admit, because the limit would reject every request. */
export function checkCostPasses(cost: unknown, rule: Rule): void {
  const most = capacityOf(rule);
  if (typeof cost !== 'number' || cost <= most) return;
  const bound = `at most ${most}, the most that passes at once`;
  throw mustBe('cost', bound, cost, 'SPW_COST_INVALID');
}
