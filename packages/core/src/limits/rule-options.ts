import { tokenBucket } from '../algorithms/values.js';
import { checkBurst, checkLimit, oneOf } from '../base/checks.js';
import { type Duration, windowToMicroseconds } from '../base/duration.js';
import { mustBe } from '../base/errors.js';
import { meteredOf } from '../contract/metered-cost.js';
import {
  type Anchor,
  type CalendarRule,
  type CalendarWindow,
  type LockRule,
  type Penalty,
  type RateAlgorithm,
  type RateRule,
  type Rule,
  softRule,
} from '../contract/rule.js';

/** The numbers of a limit. */
export interface RuleOptions {
  /** Units per window: an integer from 1 to 1,000,000,000. */
  readonly limit: number;
  /** A duration such as `'1m'`, from 1 ms to 400 days, or an imported `calendar('month')`. */
  readonly window: Duration | CalendarWindow<never>;
  /** For `tokenBucket` only: the most units at once, an integer from 1 to 1,000,000,000. Default: the limit. */
  readonly burst?: number | undefined;
  /** `tokenBucket` (default) or an imported one, such as `slidingLog` or `distinct()`. */
  readonly algorithm?: RateAlgorithm | undefined;
  /**
   * `epoch` (default) aligns the windows of `fixedWindow` to 1970. With `first-request`, a window starts at a key's
   * first request.
   */
  readonly anchor?: Anchor | undefined;
  /**
   * An imported `lockFor(['15m', '1h', '1d'])` locks a rejected key, longer each time. It implies `fixedWindow` with
   * `anchor: 'first-request'`. Default: no penalty.
   */
  readonly penalty?: Penalty | undefined;
  /**
   * With `'allow'`, requests above the limit are counted and admitted, with `over: true` in their decisions. Only keys
   * that a live setting blocks are rejected; `onStoreError: 'deny'` rejects nobody. Not for `slidingLog` and
   * `distinct`, and not with `penalty`. A token bucket counts at most `limit` units beyond its burst. Default: requests
   * above the limit are rejected.
   */
  readonly overage?: 'allow' | undefined;
}

const ANCHORS: readonly Anchor[] = ['epoch', 'first-request'];

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

function hardRuleFrom(
  options: RuleOptions & { readonly cost?: unknown },
): RateRule | CalendarRule | LockRule {
  const { limit, window, burst, anchor, penalty, algorithm = tokenBucket } = options;
  checkAlgorithm(algorithm);
  checkLimit('limit', limit);
  const maker = penalty ?? window;
  if (makesRule(maker)) return maker.makeRule(options);
  if (penalty !== undefined) throw mustBe('penalty', 'made by lockFor()', penalty);
  if (burst !== undefined && algorithm.name !== 'token-bucket') {
    throw mustBe('burst', `left out for ${algorithm.name}`, burst, 'SPW_BURST_INVALID');
  }
  if (burst !== undefined) checkBurst(burst);
  if (anchor !== undefined && algorithm.name !== 'fixed-window') {
    throw mustBe('anchor', `left out for ${algorithm.name}`, anchor);
  }
  oneOf('anchor', anchor, ANCHORS);
  const windowUs = windowToMicroseconds(window as Duration);
  return algorithm.makeRule(limit, windowUs, burst ?? limit, anchor ?? 'epoch', options);
}

/** Not by `instanceof`, which fails for an algorithm of another copy of this package. */
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
  // Checks the window first, because an invalid window may not convert to a string.
  if (!makesRule(window)) windowToMicroseconds(window);
  return `${limit}-per-${typeof window === 'number' ? `${window}ms` : window}`;
}

interface Named {
  readonly name?: string | undefined;
  readonly limit: number;
  readonly window: RuleOptions['window'];
}

function makesRule(
  value: RuleOptions['window'] | Penalty | null,
): value is CalendarWindow<never> | Penalty {
  return typeof (value as Partial<Penalty> | null | undefined)?.makeRule === 'function';
}
