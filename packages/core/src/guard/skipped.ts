/** The decision of a limiter that was not asked, or could not be. */

import type { Decision } from '../decision.js';
import type { Mode, OnStoreError } from '../limit/limiter.js';

export function skippedDecision(limiter: string): Decision {
  return {
    limiter,
    allowed: true,
    outcome: 'skipped',
    reason: null,
    cost: 0,
    remaining: Number.NaN,
    retryAfterMs: 0,
    resetMs: Number.NaN,
  };
}

/** What a limiter that is itself broken decides: as if its store could not answer. */
export function brokenDecision(
  limiter: string,
  mode: Mode,
  { onStoreError }: { readonly onStoreError: OnStoreError },
): Decision {
  const denies = onStoreError === 'deny';
  return {
    ...skippedDecision(limiter),
    allowed: mode !== 'enforce' || !denies,
    outcome: 'error',
    reason: denies ? 'store-error' : null,
  };
}
