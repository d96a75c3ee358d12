import {
  type Decision,
  type Numbers,
  type Policy,
  type Reason,
  skippedDecision,
} from '../contract/decision.js';
import { type Answer, capacityOf, type Rule } from '../contract/rule.js';
import type { Step } from '../contract/store.js';

export function policyOf(name: string, rule: Rule): Policy {
  return rule.logic.policy(name, rule.soft ?? rule);
}

export function ratePolicy(
  name: string,
  rule: { readonly limit: number; readonly windowUs: number; readonly burst?: number },
): Policy {
  const { limit, windowUs, burst = limit } = rule;
  return { name, unit: 'requests', limit, windowMs: windowUs / 1000, burst };
}

/** A process's share of a limit, which can't be 0. */
export function partOf(limit: number, share: number): number {
  return Math.max(1, Math.floor(limit * share));
}

/** The longest time to fill a bucket: 71 years. It keeps every instant of a rule below 2^53. */
export const MAX_TOLERANCE_US: number = 2 ** 51;

/** The window of a process's share of a limit. If it were longer, a bucket would have no room for a unit. */
export function windowOf(windowUs: number, share: number): number {
  return Math.min(Math.ceil(windowUs / share), MAX_TOLERANCE_US);
}

/** The numbers of a window that ends in `leftMs`, or of a lock that does. */
export function measureWindowed(
  limit: number,
  current: number,
  cost: number,
  leftMs: number,
  isLocked = false,
): Numbers {
  const left = isLocked ? 0 : Math.max(0, limit - current);
  const waitMs = cost > left ? leftMs : 0;
  return {
    used: current,
    remaining: left,
    retryAfterMs: cost > limit ? Infinity : waitMs,
    resetMs: isLocked || current > 0 ? leftMs : 0,
  };
}

/**
 * The decision about a step, from the store's answer. A rejection by the limit has the given `reason`, or `never` if
 * the cost can never pass.
 */
export function decideStep(
  limiter: string,
  step: Step,
  answer: Answer,
  policy: Policy | undefined,
  reason: Reason = 'rate',
): Decision {
  const { cost, rule, binding } = step;
  const local = typeof step.onStoreError === 'object' ? step.onStoreError : undefined;
  if (answer.failure && !local) {
    const { allowed } = answer;
    return {
      ...skippedDecision(limiter),
      allowed: allowed || !binding,
      outcome: 'error',
      reason: allowed ? null : 'store-error',
      cost,
      retryAfterMs: allowed ? 0 : Number.NaN,
      policy,
    };
  }
  const { used, remaining, retryAfterMs, resetMs } = measure(
    answer.failure && local ? local : rule,
    answer,
    cost,
  );
  const passes = answer.allowed || rule.soft !== undefined;
  let outcome: Decision['outcome'] = 'allowed';
  if (answer.failure) outcome = 'error';
  else if (!passes) outcome = binding ? 'denied' : 'would-deny';
  let why: Decision['reason'] = null;
  if (!passes) why = cost > capacityOf(rule) ? 'never' : reason;
  const decision: Decision = {
    limiter,
    allowed: passes || !binding,
    outcome,
    reason: why,
    cost,
    used,
    remaining,
    retryAfterMs,
    resetMs,
    policy,
  };
  return isOver(rule, used) || (rule.soft && !answer.allowed)
    ? { ...decision, over: true }
    : decision;
}

export function isOver({ soft }: Rule, used: number): boolean {
  return soft !== undefined && used > capacityOf(soft);
}

/** `used`, `remaining`, `retryAfterMs` and `resetMs` for a store's answer to a step of `cost` units under `rule`. */
export function measure(rule: Rule, answer: Answer, cost: number): Numbers {
  const numbers = rule.logic.measure(rule, answer, cost);
  const { soft } = rule;
  return soft ? { ...soft.logic.measure(soft, answer, cost), used: numbers.used } : numbers;
}

/**
 * The answer to a step for which the store gave none, according to `onStoreError`. A step passes unless `onStoreError`
 * is `'deny'` or the step is a `put`. But if the algorithm fails closed, only a `take` or `look` with `'allow'` passes.
 */
export function unanswered(step: Step, failure: Error): Answer {
  return { allowed: passes(step), nowUs: 0, tatUs: 0, tatNum: 0, failure };
}

function passes({ op, rule, onStoreError }: Step): boolean {
  if (rule.logic?.failsClosed) return onStoreError === 'allow' && (op === 'take' || op === 'look');
  return onStoreError !== 'deny' && op !== 'put';
}
