/** Chooses the decision that counts out of several. */

import type { Decision } from './decision.js';
import { statusOf } from './status.js';

/**
 * The decision that counts. Of refusals: first those that are about the caller (429, 403), then those that are about
 * our load (503), and among them the one with the longest wait. If nothing is refused: the one with the least
 * `remaining`.
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
