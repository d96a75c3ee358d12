/** The numbers of a decision about a log. */

import type { LogAnswer } from '../../contract/ask.js';
import type { Numbers } from '../../contract/decision.js';
import type { LogRule } from '../../contract/rule.js';

export function measureLog(rule: LogRule, answer: LogAnswer, cost: number): Numbers {
  const { used, freesUs, lastUs, nowUs } = answer;
  let retryAfterMs = 0;
  if (cost > rule.limit) retryAfterMs = Infinity;
  else if (cost > 0 && freesUs >= 0) retryAfterMs = (freesUs + rule.windowUs - nowUs) / 1000;
  return {
    used,
    remaining: Math.max(0, rule.limit - used),
    retryAfterMs,
    resetMs: used > 0 ? (lastUs + rule.windowUs - nowUs) / 1000 : 0,
  };
}
