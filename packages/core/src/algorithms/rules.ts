/**
 * Finds algorithms by name, for code that reads names from a file or the network. Imports all algorithms for rate
 * limits.
 */

import { oneOf } from '../base/checks.js';
import type { Algorithm, Anchor, RateAlgorithm, RateRule } from '../contract/rule.js';
import { fixedWindow, slidingLog, slidingWindow, tokenBucket } from './values.js';

const VALUES: Readonly<Record<Algorithm, RateAlgorithm>> = {
  'token-bucket': tokenBucket,
  'fixed-window': fixedWindow,
  'sliding-window-log': slidingLog,
  'sliding-window-counter': slidingWindow,
};

/** Without the PURE mark, a bundle that uses only a store would include all algorithms. */
const NAMES: readonly Algorithm[] = /* @__PURE__ */ Object.keys(VALUES) as Algorithm[];

/**
 * The algorithm with this name, as in metrics and the command line.
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
 * `windowUs` from 1 ms to 400 days in microseconds. Only `token-bucket` uses `burst`, and only `fixed-window` uses
 * `anchor`.
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
