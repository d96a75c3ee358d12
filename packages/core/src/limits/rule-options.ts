/** Validation of the numbers and names that users write, and the rule they make. */

import { ALGORITHMS, makeRule } from '../algorithms/rules.js';
import { checkBurst, checkLimit, oneOf } from '../base/checks.js';
import { type Duration, windowToMicroseconds } from '../base/duration.js';
import { mustBe } from '../base/errors.js';
import type { Algorithm, Anchor, RateRule } from '../contract/rule.js';

/** The numbers of a limit. */
export interface RuleOptions {
  /** Units per window: an integer from 1 to 1,000,000,000. */
  readonly limit: number;
  /** `'1m'`, or milliseconds: from 1 ms to 400 days. */
  readonly window: Duration;
  /** Units at once, for `token-bucket` only: an integer from 1 to 1,000,000,000. Default: the limit. */
  readonly burst?: number | undefined;
  /** How units come back: continuously, or with windows. Default `token-bucket`. */
  readonly algorithm?: Algorithm | undefined;
  /** Where windows of `fixed-window` begin: at the epoch, or with the first request of a key. Default `epoch`. */
  readonly anchor?: Anchor | undefined;
}

const ANCHORS: readonly Anchor[] = ['epoch', 'first-request'];

/**
 * Validates the numbers of a limit and makes their rule.
 *
 * @throws SpillwayError `SPW_LIMIT_INVALID`, `SPW_WINDOW_INVALID`, `SPW_BURST_INVALID`, `SPW_ALGORITHM_INVALID`,
 * `SPW_OPTION_INVALID`
 */
export function ruleFrom(options: RuleOptions): RateRule {
  const { limit, burst, anchor, algorithm = 'token-bucket' } = options;
  oneOf('algorithm', algorithm, ALGORITHMS, 'SPW_ALGORITHM_INVALID');
  checkLimit('limit', limit);
  if (burst !== undefined && algorithm !== 'token-bucket') {
    throw mustBe('burst', `left out for ${algorithm}`, burst, 'SPW_BURST_INVALID');
  }
  if (burst !== undefined) checkBurst(burst);
  if (anchor !== undefined && algorithm !== 'fixed-window') {
    throw mustBe('anchor', `left out for ${algorithm}`, anchor);
  }
  oneOf('anchor', anchor, ANCHORS);
  return makeRule(algorithm, limit, windowToMicroseconds(options.window), burst, anchor);
}

/**
 * The name of a limit; without one its numbers, as in `100-per-1m`.
 *
 * @throws SpillwayError `SPW_WINDOW_INVALID`
 */
export function nameOf({ name, limit, window }: Named): string {
  if (name !== undefined) return name;
  windowToMicroseconds(window); // what is no window cannot always be shown
  return `${limit}-per-${typeof window === 'number' ? `${window}ms` : window}`;
}

interface Named {
  readonly name?: string | undefined;
  readonly limit: number;
  readonly window: Duration;
}
