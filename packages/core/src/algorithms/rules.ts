/** Makes the rule of a rate by the name of its algorithm. */

import type { Algorithm, RateRule } from '../contract/rule.js';
import { makeBucketRule } from './bucket/rule.js';
import { makeLogRule } from './log/rule.js';
import { makeWindowRule } from './window/rule.js';

const MAKERS: Readonly<
  Record<Algorithm, (limit: number, windowUs: number, burst: number) => RateRule>
> = {
  'token-bucket': makeBucketRule,
  'fixed-window': (limit, windowUs) => makeWindowRule(limit, windowUs, false),
  'sliding-window-log': makeLogRule,
  'sliding-window-counter': (limit, windowUs) => makeWindowRule(limit, windowUs, true),
};

/** The names of the algorithms for rates. Without the mark, a bundle of a store alone has all of their code. */
export const ALGORITHMS: readonly Algorithm[] = /* @__PURE__ */ Object.keys(MAKERS) as Algorithm[];

/**
 * Makes the rule of an algorithm. The numbers must have been checked: integers, `limit` and `burst` from 1 to 10^9,
 * `windowUs` from 1,000 to 400 days.
 */
export function makeRule(
  algorithm: Algorithm,
  limit: number,
  windowUs: number,
  burst: number = limit,
): RateRule {
  return MAKERS[algorithm](limit, windowUs, burst);
}
