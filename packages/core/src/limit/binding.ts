/** Which of several decisions counts. */

import type { Decision } from '../decision.js';

/** Of the refused the one with the longest wait, else the one with the least remaining. */
export function bindingOf(decisions: readonly Decision[]): Decision {
  return decisions.reduce((binding, decision) => {
    if (binding.allowed !== decision.allowed) return binding.allowed ? decision : binding;
    if (decision.allowed) return decision.remaining < binding.remaining ? decision : binding;
    return decision.retryAfterMs > binding.retryAfterMs ? decision : binding;
  });
}
