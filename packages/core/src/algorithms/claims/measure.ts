/** The numbers of a decision about a claim. */

import type { ClaimsAnswer } from '../../contract/ask.js';
import type { Numbers } from '../../contract/decision.js';
import type { ClaimsRule } from '../../contract/rule.js';

/**
 * `retryAfterMs` is what is left of the lease of who runs it, though it may be renewed. It is NaN if the claim is done:
 * it does not pass then, it is answered.
 */
export function measureClaims(_: ClaimsRule, answer: ClaimsAnswer): Numbers {
  const { allowed, nowUs, state, endsUs } = answer;
  const used = state === 'free' ? 0 : 1;
  const resetMs = used === 0 ? 0 : (endsUs - nowUs) / 1000;
  const waitMs = state === 'running' ? resetMs : Number.NaN;
  return { used, remaining: 1 - used, retryAfterMs: allowed ? 0 : waitMs, resetMs };
}
