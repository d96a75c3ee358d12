/** Which of several decisions counts. */

import type { Decision } from './decision.js';
import { statusOf } from './status.js';

/**
 * Of the refused those that are about the caller (429, 403) before those for which we are full (503), and of them the
 * one with the longest wait; if none is refused, the one with the least remaining.
 */
export function bindingOf(decisions: readonly Decision[]): Decision {
  return decisions.reduce((binding, decision) => {
    if (binding.allowed !== decision.allowed) return binding.allowed ? decision : binding;
    if (decision.allowed) return decision.remaining < binding.remaining ? decision : binding;
    const isOurs = statusOf(decision) === 503;
    if (isOurs !== (statusOf(binding) === 503)) return isOurs ? binding : decision;
    return decision.retryAfterMs > binding.retryAfterMs ? decision : binding;
  });
}
