/** Chooses the decision that counts out of several. */

import type { Decision } from './decision.js';
import { statusOf } from './status.js';

/**
 * The decision that counts. Of refusals: first those of limits that are about the caller (429, 403), then those that
 * are about our load (503), then those that are about an idempotency key, and among them the one with the longest wait.
 * If nothing is refused: the one with the least `remaining`; one that was skipped has none.
 */
export function bindingOf(decisions: readonly Decision[]): Decision {
  return decisions.reduce((binding, decision) => {
    if (binding.allowed !== decision.allowed) return binding.allowed ? decision : binding;
    if (decision.allowed) {
      const isNearer = decision.remaining < binding.remaining || binding.outcome === 'skipped';
      return isNearer ? decision : binding;
    }
    const later = rankOf(decision) - rankOf(binding);
    if (later !== 0) return later < 0 ? decision : binding;
    return decision.retryAfterMs > binding.retryAfterMs ? decision : binding;
  });
}

function rankOf(decision: Decision): number {
  if (decision.outcome === 'repeated') return 3;
  const status = statusOf(decision);
  if (status === 503) return 1;
  return status === 429 || status === 403 ? 0 : 2;
}
