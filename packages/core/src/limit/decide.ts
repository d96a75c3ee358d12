/** From a store's answer to a decision: the same for guards and for direct use. */

import type { Decision, Policy } from '../decision.js';
import { measure } from '../measure.js';
import { capacityOf, type Rule } from '../rule.js';
import type { Answer, Step } from '../store.js';

/** The numbers of a rule as they are told to clients. */
export function policyOf(name: string, rule: Rule): Policy {
  return { name, limit: rule.limit, windowMs: rule.windowUs / 1000, burst: capacityOf(rule) };
}

/** The decision of a limiter on one step. */
export function decide(step: Step, answer: Answer, policy: Policy): Decision {
  const { limiter, cost, rule, binding } = step;
  const local = typeof step.onStoreError === 'object' ? step.onStoreError : undefined;
  if (answer.failure && !local) {
    const { allowed } = answer;
    return {
      limiter,
      allowed: allowed || !binding,
      outcome: 'error',
      reason: 'store-error',
      cost,
      remaining: Number.NaN,
      retryAfterMs: allowed ? 0 : Number.NaN,
      resetMs: Number.NaN,
      policy,
    };
  }
  const { remaining, retryAfterMs, resetMs } = measure(
    answer.failure && local ? local : rule,
    answer,
    cost,
  );
  const passes = answer.allowed;
  let outcome: Decision['outcome'] = 'allowed';
  if (answer.failure) outcome = 'error';
  else if (!passes) outcome = binding ? 'denied' : 'would-deny';
  let reason: Decision['reason'] = null;
  if (!passes) reason = cost > capacityOf(rule) ? 'never' : 'rate';
  return {
    limiter,
    allowed: passes || !binding,
    outcome,
    reason,
    cost,
    remaining,
    retryAfterMs,
    resetMs,
    policy,
  };
}
