/** Makes the rule of a rate by the name of its algorithm. */

import type { Algorithm, Anchor, RateRule } from '../contract/rule.js';
import { makeBucketRule } from './bucket/rule.js';
import { makeLogRule } from './log/rule.js';
import { makeWindowRule } from './window/rule.js';

const MAKERS: Readonly<
  Record<Algorithm, (limit: number, windowUs: number, burst: number, anchor: Anchor) => RateRule>
> = {
  'token-bucket': makeBucketRule,
  'fixed-window': (limit, windowUs, _burst, anchor) =>
    makeWindowRule(limit, windowUs, anchor === 'epoch' ? 'fixed' : 'anchored'),
  'sliding-window-log': makeLogRule,
  'sliding-window-counter': (limit, windowUs) => makeWindowRule(limit, windowUs, 'sliding'),
};

/** The names of the algorithms for rates. Without the mark, a bundle of a store alone has all of their code. */
export const ALGORITHMS: readonly Algorithm[] = /* @__PURE__ */ Object.keys(MAKERS) as Algorithm[];

/**
 * Makes the rule of an algorithm. The numbers must have been checked: integers, `limit` and `burst` from 1 to 10^9,
 * `windowUs` from 1,000 to 400 days. `burst` counts for `token-bucket` only, `anchor` for `fixed-window` only.
 */
export function makeRule(
  algorithm: Algorithm,
  limit: number,
  windowUs: number,
  burst: number = limit,
  anchor: Anchor = 'epoch',
): RateRule {
  return MAKERS[algorithm](limit, windowUs, burst, anchor);
}
