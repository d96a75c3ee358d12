/** Decisions for which no store was asked. */

import type { Decision } from './decision.js';
import type { Mode } from './mode.js';

export function skippedDecision(limiter: string): Decision {
  return {
    limiter,
    allowed: true,
    outcome: 'skipped',
    reason: null,
    cost: 0,
    used: Number.NaN,
    remaining: Number.NaN,
    retryAfterMs: 0,
    resetMs: Number.NaN,
  };
}

/** What is rejected without asking the store. */
export function refusedDecision(
  limiter: string,
  mode: Mode,
  reason: 'blocked' | 'never',
  retryAfterMs: number,
): Decision {
  const enforced = mode === 'enforce';
  const outcome = enforced ? 'denied' : 'would-deny';
  const nothing = skippedDecision(limiter);
  return { ...nothing, allowed: !enforced, outcome, reason, remaining: 0, retryAfterMs };
}
