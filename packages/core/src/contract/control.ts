/** What a guard needs of a control, the place where operators set things live. */

import type { Duration } from '../base/duration.js';
import type { Mode } from './decision.js';
import type { Rule } from './rule.js';

/**
 * Numbers of a limit that were set live, in place of those that were declared: either some of `limit`, `window` and
 * `burst`, or a `factor` alone.
 */
export interface LiveLimits {
  /** Units per window; for a concurrency limit the requests at once, for a fleet shedder the capacity. */
  readonly limit?: number;
  /** Rate limits only. */
  readonly window?: Duration;
  /** Token buckets only. */
  readonly burst?: number;
  /**
   * Multiplies the limit, and the burst of a token bucket, that the options or a plan give: above 0 up to
   * 1,000,000,000. What comes of it is rounded down, and is at least 1. Of a shaper it multiplies the pace only.
   */
  readonly factor?: number;
  /** Whether `limit`, `window` and `burst` replace those of plans too, as a factor always does. Default false. */
  readonly allPlans?: boolean;
}

/** What is set live for one limiter. What is left out stays as declared. */
export interface LimiterSettings {
  readonly mode?: Mode;
  /**
   * For limiters with a store: the share of keys for which the limit is enforced, 0 to 1. For other keys it is in
   * shadow.
   */
  readonly share?: number;
  /** Must be the same object while the numbers are the same: guards make a rule from it once. */
  readonly limits?: LiveLimits;
}

/** An operator's decision about one key of a limiter. */
export interface KeyOverride {
  /** `allow`: the limiter neither counts nor refuses the key. `block`: the limiter refuses it. */
  readonly verdict: 'allow' | 'block';
  /** How much longer it lasts, in milliseconds. */
  readonly endsInMs: number;
}

/**
 * Where live settings come from. Each method is called for every request, so it must answer from memory, at once, and
 * must not throw. A setting that is not valid counts as not set, and is reported as a fault.
 */
export interface Control {
  /**
   * The settings of a limiter. Must be the same object until something about the limiter changes: with a new object,
   * guards forget the refusals that they remember.
   */
  settingsOf(limiter: string): LimiterSettings | undefined;
  /** Whether a key of a limiter is blocked or allowed now; undefined if neither. */
  overrideOf(limiter: string, key: string): KeyOverride | undefined;
  /**
   * Numbers for one key, in place of those for its limiter. Must be the same object while the numbers are the same.
   * Whenever they change, {@link settingsOf} must return a new object.
   */
  limitsOf?(limiter: string, key: string): LiveLimits | undefined;
  /**
   * Keys of the limiter that were reset within the last minute, and when, in milliseconds since the epoch. The
   * fallback counters, which count beside the store, read it. Whenever it changes, {@link settingsOf} must return a new
   * object. With `hashKeys`, the keys are hashes, as the control stores them.
   */
  resetsOf?(limiter: string): ReadonlyMap<string, number>;
  /**
   * Whether the place where settings are kept has lost them, while the last ones stay in force. Metrics show it.
   */
  readonly settingsLost?: boolean;
  /**
   * Called for each limiter of a guard when the guard is made, with the declared rule if the limiter keeps counts. So
   * the control can warn operators of names that do not exist. Must return at once and never throw.
   */
  register?(limiter: string, rule?: Rule): void;
}
