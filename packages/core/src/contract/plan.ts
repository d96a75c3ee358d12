/** The numbers that one caller has bought, in place of those that were declared. */

import type { Duration } from '../base/duration.js';
import type { LimitRequest } from './request.js';

/** The numbers of a plan. Omitted or null: as declared. At least one must be given. */
export interface Plan {
  /** Labels metrics and the policy of decisions: 1 to 64 printable ASCII characters. */
  readonly name?: string | null | undefined;
  /** Units per window, or requests in progress at once: an integer from 0 to 1,000,000,000. 0 lets nobody pass. */
  readonly limit?: number | null | undefined;
  /** Of a rate limit: `'1m'`, or milliseconds, from 1 ms to 400 days. */
  readonly window?: Duration | null | undefined;
  /** Of a token bucket: units at once, an integer from 1 to 1,000,000,000. */
  readonly burst?: number | null | undefined;
}

/** What a plan is looked up by; nothing means that the declared numbers apply. */
export type PlanOption<Raw> = (
  request: LimitRequest<Raw>,
) => Plan | null | undefined | PromiseLike<Plan | null | undefined>;
