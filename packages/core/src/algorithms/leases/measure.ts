/** The numbers of a decision about permits. */

import type { LeasesAnswer } from '../../contract/ask.js';
import type { Numbers } from '../../contract/decision.js';
import type { LeasesRule } from '../../contract/rule.js';

/** Nobody can know when a request in progress will end, so there is no wait and no reset to tell. */
export function measureLeases(rule: LeasesRule, answer: LeasesAnswer): Numbers {
  const { allowed, used, critical } = answer;
  return {
    used,
    remaining: Math.max(0, Math.min(rule.limit - used, rule.open - (used - critical))),
    retryAfterMs: allowed ? 0 : Number.NaN,
    resetMs: Number.NaN,
  };
}
