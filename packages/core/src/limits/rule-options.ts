/** Validates the numbers of a limit and makes the rule. */

import { tokenBucket } from '../algorithms/values.js';
import { checkBurst, checkLimit, oneOf } from '../base/checks.js';
import { type Duration, windowToMicroseconds } from '../base/duration.js';
import { mustBe } from '../base/errors.js';
import { meteredOf } from '../contract/metered-cost.js';
import {
  type Anchor,
  type CalendarRule,
  type CalendarWindow,
  type RateAlgorithm,
  type RateRule,
  type Rule,
  softRule,
} from '../contract/rule.js';

/** The numbers of a limit. */
export interface RuleOptions {
  /** Units per window: an integer from 1 to 1,000,000,000. */
  readonly limit: number;
  /** `'1m'`, or milliseconds, from 1 ms to 400 days; or an imported `calendar('month')`. */
  readonly window: Duration | CalendarWindow<never>;
  /** Units at once, for `tokenBucket` only: an integer from 1 to 1,000,000,000. Default: the limit. */
  readonly burst?: number | undefined;
  /** The algorithm: `tokenBucket` (default), `fixedWindow`, `slidingWindow` or `slidingLog`, each imported. */
  readonly algorithm?: RateAlgorithm | undefined;
  /** When windows of `fixedWindow` start: aligned to 1970 (`epoch`, default), or with the first request of a key. */
  readonly anchor?: Anchor | undefined;
  /**
   * `'allow'`: requests above the limit are counted and admitted, and their decisions have `over: true`. The limit
   * rejects nobody, even with `onStoreError: 'deny'`. Not for `slidingLog`. A token bucket counts one limit beyond its
   * burst, a window at most 4,294,967,295 units, a calendar 2^51. Default: requests above the limit are rejected.
   */
  readonly overage?: 'allow' | undefined;
}

const ANCHORS: readonly Anchor[] = ['epoch', 'first-request'];

/**
 * Validates the numbers of a limit and makes their rule.
 *
 * @throws SpillwayError `SPW_LIMIT_INVALID`, `SPW_WINDOW_INVALID`, `SPW_BURST_INVALID`, `SPW_ALGORITHM_INVALID`,
 * `SPW_OPTION_INVALID`
 */
export function ruleFrom(options: RuleOptions & { readonly cost?: unknown }): Rule {
  const { overage, cost } = options;
  const hard = hardRuleFrom(options);
  const rule = meteredOf(cost)?.makeRule(hard) ?? hard;
  if (overage === undefined) return rule;
  oneOf('overage', overage, ['allow']);
  const soft = softRule(rule);
  if (soft) return soft;
  throw mustBe('overage', `left out for ${options.algorithm?.name}`, overage);
}

function hardRuleFrom(options: RuleOptions): RateRule | CalendarRule {
  const { limit, window, burst, anchor, algorithm = tokenBucket } = options;
  checkAlgorithm(algorithm);
  checkLimit('limit', limit);
  if (isCalendar(window)) return window.makeRule(options);
  if (burst !== undefined && algorithm.name !== 'token-bucket') {
    throw mustBe('burst', `left out for ${algorithm.name}`, burst, 'SPW_BURST_INVALID');
  }
  if (burst !== undefined) checkBurst(burst);
  if (anchor !== undefined && algorithm.name !== 'fixed-window') {
    throw mustBe('anchor', `left out for ${algorithm.name}`, anchor);
  }
  oneOf('anchor', anchor, ANCHORS);
  const windowUs = windowToMicroseconds(window);
  return algorithm.makeRule(limit, windowUs, burst ?? limit, anchor ?? 'epoch');
}

/** Checks members and not identity, because the algorithm may come from another copy of this package. */
function checkAlgorithm(algorithm: RateAlgorithm): void {
  if (typeof algorithm?.makeRule === 'function') return;
  throw mustBe(
    'algorithm',
    "imported, as in import { fixedWindow, slidingLog, slidingWindow, tokenBucket } from '@spillway/core'",
    algorithm,
    'SPW_ALGORITHM_INVALID',
  );
}

/**
 * The name of a limit. Default: its numbers, as in `100-per-1m`.
 *
 * @throws SpillwayError `SPW_WINDOW_INVALID`
 */
export function nameOf({ name, limit, window }: Named): string {
  if (name !== undefined) return name;
  // Throws first: an invalid window may not convert to a string.
  if (!isCalendar(window)) windowToMicroseconds(window);
  return `${limit}-per-${typeof window === 'number' ? `${window}ms` : window}`;
}

interface Named {
  readonly name?: string | undefined;
  readonly limit: number;
  readonly window: RuleOptions['window'];
}

/** By a method: it may come from another copy of this package. */
function isCalendar(window: RuleOptions['window']): window is CalendarWindow<never> {
  return typeof (window as Partial<CalendarWindow> | undefined)?.makeRule === 'function';
}
