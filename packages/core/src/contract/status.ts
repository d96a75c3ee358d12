/** The status that answers a refusal, by its reason. */

import type { Decision, Reason } from './decision.js';

/** 429 and 403 are about the caller, 503 says that we cannot serve now. */
type RefusalStatus = 403 | 429 | 503;

const STATUSES: Readonly<Record<Reason, RefusalStatus>> = {
  rate: 429,
  concurrency: 429,
  never: 429,
  blocked: 403,
  capacity: 503,
  overload: 503,
  'store-error': 503,
};

/** The status of a refusal. */
export function statusOf({ reason }: Decision): RefusalStatus {
  return STATUSES[reason as Reason] ?? 503; // a limiter of the user's own may name no reason
}
