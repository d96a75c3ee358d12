/**
 * Limits with debt. If a cost is known only after the request, units beyond the limit are charged as a debt. While a
 * key is in debt, its requests are rejected.
 */

import { mustBe } from '../base/errors.js';
import { mulDiv } from '../base/exact.js';
import type { Numbers } from '../contract/decision.js';
import type { BucketAnswer, BucketRule, CalendarRule, Machine, Rule } from '../contract/rule.js';
import { bucketCode, chargeDebt, measureParts, unitsRefilled, unitsUsed } from './bucket.js';
import { MAX_TOLERANCE_US } from './decide.js';

/**
 * Lets a limit go into debt by `debt` units. Only token buckets and limits by calendar can have debt. If a plan or a
 * live setting has another limit than `ofLimit`, the debt changes in proportion.
 *
 * A token bucket with debt has another `code` than one without debt, and so a separate count. The debt is reduced if
 * burst and debt together would take longer than 2^51 us to refill.
 *
 * @param debt an integer from 1 to 10^9
 * @param ofLimit the declared limit
 * @throws SpillwayError `SPW_OPTION_INVALID` for another algorithm
 * @example
 * ```ts run
 * import { makeRule, type Step, withDebt } from '@spillway/core/store';
 * import { memoryStore } from '@spillway/core';
 *
 * const rule = withDebt(makeRule('token-bucket', 100, 60_000_000), 50, 100);
 * const step: Step = { op: 'record', limiter: 'tokens', key: 'ada', rule, cost: 175, binding: true };
 * const [answer] = memoryStore().apply([step]);
 * answer?.forgiven; // 25
 * ```
 */
export function withDebt<Own extends Rule>(rule: Own, debt: number, ofLimit: number): Own {
  if (rule.machine === 'bucket') return bucketWithDebt(rule, debt, ofLimit) as Own;
  if (rule.machine === 'calendar') return calendarWithDebt(rule, debt, ofLimit) as Own;
  throw mustBe('cost', 'left to tokenBucket and calendar(), if a meter says it', rule.machine);
}

function bucketWithDebt(rule: BucketRule, debt: number, ofLimit: number): BucketRule {
  const { windowUs, den, tolUs, tolNum } = rule;
  const { whole, rest } = mulDiv(debt, windowUs, ofLimit);
  const num = tolNum + mulDiv(rest, den, ofLimit).whole;
  const us = tolUs + whole + (num >= den ? 1 : 0);
  const deepest =
    us < MAX_TOLERANCE_US
      ? { tolUs: us, tolNum: num % den }
      : { tolUs: MAX_TOLERANCE_US, tolNum: 0 };
  const units = unitsRefilled(rule, deepest.tolUs - tolUs, deepest.tolNum - tolNum);
  const code = bucketCode(deepest, den);
  const logic: Machine = {
    ...owing(rule, debt, ofLimit),
    expiresAfterUs: () => deepest.tolUs + 1,
    measure: measureInDebt,
    chargeDebt,
    soften: (own: BucketRule) => ({
      ...own,
      ...deepest,
      burst: unitsRefilled(rule, deepest.tolUs, deepest.tolNum),
      debt: 0,
    }),
    checkPlan({ window, burst }) {
      if ((window ?? burst) == null) return;
      // Such a plan would have a separate count, without the debt of the caller.
      throw mustBe('plan', 'without window and burst beside a meter', { window, burst });
    },
  };
  return { ...rule, logic, code, deepest, debt: units };
}

function measureInDebt(rule: BucketRule, answer: BucketAnswer, cost: number): Numbers {
  return { ...measureParts(rule, answer, cost, 0), used: unitsUsed(rule, answer) };
}

function calendarWithDebt(rule: CalendarRule, debt: number, ofLimit: number): CalendarRule {
  const { soften } = rule.logic;
  const logic: Machine = {
    ...owing(rule, debt, ofLimit),
    soften: (own) => ({ ...(soften?.(own) as Rule), debt: 0 }),
  };
  return { ...rule, logic, debt: mulDiv(debt, rule.limit, ofLimit).whole };
}

function owing({ logic }: Rule, debt: number, ofLimit: number): Machine {
  return {
    ...logic,
    share: (own, share) => withDebt({ ...logic.share(own, share), logic } as Rule, debt, ofLimit),
    declared: (own) => ({ ...logic.declared(own), debt: own.debt ?? 0 }),
  };
}
