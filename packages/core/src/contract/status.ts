/** The HTTP status of a refusal, by its reason. */

import type { Decision, Reason } from './decision.js';

/** 429 and 403 say that the caller is the reason, 503 that we are. */
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
  return STATUSES[reason as Reason] ?? 503; // a user's own limiter may give no reason
}
