/** Algorithms for rates by their names, for who reads these from a file or the network: has the code of all. */

import { oneOf } from '../base/checks.js';
import type { Algorithm, Anchor, RateAlgorithm, RateRule } from '../contract/rule.js';
import { fixedWindow, slidingLog, slidingWindow, tokenBucket } from './values.js';

const VALUES: Readonly<Record<Algorithm, RateAlgorithm>> = {
  'token-bucket': tokenBucket,
  'fixed-window': fixedWindow,
  'sliding-window-log': slidingLog,
  'sliding-window-counter': slidingWindow,
};

/** The names of the algorithms for rates. Without the mark, a bundle of a store alone has all of their code. */
const NAMES: readonly Algorithm[] = /* @__PURE__ */ Object.keys(VALUES) as Algorithm[];

/**
 * The algorithm that metrics, the command line and the registry call by this name.
 *
 * @throws SpillwayError `SPW_ALGORITHM_INVALID`
 * @example
 * ```ts
 * import { rateLimit } from '@spillway/core';
 * import { algorithmByName } from '@spillway/core/algorithms';
 *
 * const { algorithm } = JSON.parse('{ "algorithm": "fixed-window" }');
 * rateLimit({ limit: 100, window: '1m', algorithm: algorithmByName(algorithm) });
 * ```
 */
export function algorithmByName(name: Algorithm): RateAlgorithm {
  oneOf('algorithm', name, NAMES, 'SPW_ALGORITHM_INVALID');
  return VALUES[name];
}

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
  return VALUES[algorithm].makeRule(limit, windowUs, burst, anchor);
}
