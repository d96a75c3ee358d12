/** The HTTP status of a refusal, by its reason. */

import type { Decision, Reason } from './decision.js';

/** 4xx says that the caller is the reason, 503 that we are. */
const STATUSES: Readonly<Record<Reason, number>> = {
  rate: 429,
  concurrency: 429,
  never: 429,
  blocked: 403,
  capacity: 503,
  overload: 503,
  running: 409,
  mismatch: 422,
  'key-invalid': 400,
  'not-kept': 409,
  'store-error': 503,
};

/** The status of a refusal. */
export function statusOf({ reason, status }: Decision): number {
  return status ?? STATUSES[reason as Reason] ?? 503; // a user's own limiter may give no reason
}
