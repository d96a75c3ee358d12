import { checkOptions } from '../base/check-shapes.js';
import { checkCallback } from '../base/checks.js';
import type { NamesOf } from '../base/option-names.js';
import type { StoredLimiter } from '../contract/limiter.js';
import type { KeyOption, PlanOption } from '../contract/request.js';
import { LeaseLimiter, type LeaseOptions } from './lease-limiter.js';
import { checkKeyOption } from './limiter-options.js';

/** Options of {@link concurrencyLimit}. */
export interface ConcurrencyLimitOptions<Raw = unknown> extends LeaseOptions<Raw> {
  /**
   * Name in headers, problem bodies, metrics and the store: 1 to 64 printable ASCII characters. Required with a store.
   * Default: the number, as in `20-at-once`.
   */
  readonly name?: string | undefined;
  /** The most requests in flight: an integer from 1 to 1,000,000,000. */
  readonly limit: number;
  /**
   * Returns the caller's plan: a `limit`, and a `name` for metrics; may be async. If there is no valid plan or the
   * function fails, the declared limit applies, so make it the smallest. A limit of 0 rejects every request.
   */
  readonly plan?: PlanOption<Raw> | undefined;
  /**
   * Identifies the caller: a user, an API key, or a list such as `[tenant, user]`; may be async. Default: the client's
   * address. The address is also used if the key or a part of it is missing, empty or too long, or the function fails.
   */
  readonly key?: KeyOption<Raw> | undefined;
}

const NAMES: NamesOf<ConcurrencyLimitOptions> = {
  name: 1,
  limit: 1,
  plan: 1,
  key: 1,
  lease: 1,
  mode: 1,
  share: 1,
  onStoreError: 1,
  localShare: 1,
  retryAfter: 1,
  random: 1,
};

/**
 * Limits how many requests of each key are in flight at once; requests above the limit get a 429. Use it for slow or
 * expensive endpoints, where waiting clients retry and so add load. This is the concurrent requests limiter of P.
 * Tarjan ("Scaling your API with rate limiters", 2017). A permit is released when the response closes, however it
 * ended. If the process crashes, the permit expires with its lease.
 *
 * @throws SpillwayError `SPW_LIMIT_INVALID`, `SPW_NAME_INVALID`, `SPW_KEY_INVALID`, `SPW_OPTION_INVALID`,
 * `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts
 * import { concurrencyLimit, createGuard } from '@spillway/core';
 *
 * const guard = createGuard(
 *   concurrencyLimit<{ user?: { id: string } }>({ name: 'in-flight', limit: 20, key: ({ raw }) => raw.user?.id }),
 * );
 * ```
 */
export function concurrencyLimit<Raw = unknown>(
  options: ConcurrencyLimitOptions<Raw>,
): StoredLimiter<Raw> {
  checkOptions(options, 'concurrencyLimit()', NAMES);
  const { name, limit, plan, key } = options;
  checkKeyOption(key);
  checkCallback('plan', plan);
  return new LeaseLimiter(
    {
      name: name === undefined ? `${String(limit)}-at-once` : name,
      named: name !== undefined,
      reason: 'concurrency',
      limit,
      plan,
      reserve: 0,
      key,
    },
    options,
  );
}
