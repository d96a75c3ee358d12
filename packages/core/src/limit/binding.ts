/** Which of several decisions counts. */

import type { Decision } from '../decision.js';
import { statusOf } from '../http/problem.js';

/**
 * Of the refused those for which the caller can do something (429) before those for which we are full (503), and of them the
 * one with the longest wait; if none is refused, the one with the least remaining.
 */
export function bindingOf(decisions: readonly Decision[]): Decision {
  return decisions.reduce((binding, decision) => {
    if (binding.allowed !== decision.allowed) return binding.allowed ? decision : binding;
    if (decision.allowed) return decision.remaining < binding.remaining ? decision : binding;
    const status = statusOf(decision);
    if (status !== statusOf(binding)) return status === 429 ? decision : binding;
    return decision.retryAfterMs > binding.retryAfterMs ? decision : binding;
  });
}
