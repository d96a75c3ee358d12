/** The decision of a limiter that was skipped. */

import type { Decision } from './decision.js';

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
