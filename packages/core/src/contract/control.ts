import type { Duration } from '../base/duration.js';
import type { Mode } from './decision.js';
import type { Rule } from './rule.js';

/**
 * Live limits, which replace the declared numbers: either some of `limit`, `window` and `burst`, or a `factor` alone. A
 * plan's limit of 0 stays 0, unless the key has a live `limit`.
 */
export interface LiveLimits {
  /** Units per window. For a concurrency limit: requests in flight. For a fleet shedder: the capacity. */
  readonly limit?: number;
  /** Only for shapers, and for rate limits without a calendar. */
  readonly window?: Duration;
  /** Only for token buckets. */
  readonly burst?: number;
  /**
   * Multiplies the limit (declared or of a plan) and the burst of a token bucket. Above 0 and at most 1,000,000,000.
   * The result is rounded down, but is at least 1 and at most the highest limit of the algorithm. For a shaper, it
   * multiplies only the pace.
   */
  readonly factor?: number;
  /**
   * Whether `limit`, `window` and `burst` also replace the numbers of plans. Default false, because a live limit of 50
   * must not affect customers who bought more. A factor always applies to plans. So do limits of a single key.
   */
  readonly allPlans?: boolean;
}

/** Live settings of one limiter. Omitted settings stay as declared. */
export interface LimiterSettings {
  readonly mode?: Mode;
  /**
   * Not for worker shedders: the share of keys for which the limit is enforced, 0 to 1. For other keys the limiter is
   * in shadow mode.
   */
  readonly share?: number;
  /**
   * Live limits. Must be the same object until a number changes, because a guard makes a new rule for each new object.
   */
  readonly limits?: LiveLimits;
}

/** An operator's decision about one key of a limiter. */
export interface KeyOverride {
  /**
   * `allow`: the limiter doesn't count or reject the key. `block`: the limiter rejects the key or, in shadow mode, only
   * reports the rejection.
   */
  readonly verdict: 'allow' | 'block';
  readonly endsInMs: number;
}

/**
 * The source of live settings. Its methods can be called for every request, so they must answer at once, from memory,
 * and must not throw. An invalid setting counts as not set and is reported as a fault.
 */
export interface Control {
  /**
   * The settings of a limiter. Return the same object until a setting of the limiter changes, because a new object
   * makes guards clear their denial cache.
   */
  settingsOf(limiter: string): LimiterSettings | undefined;
  overrideOf(limiter: string, key: string): KeyOverride | undefined;
  /**
   * Live limits for one key, which take precedence over those of its limiter. Return the same object until they change.
   * When they change, {@link settingsOf} must return a new object.
   */
  limitsOf?(limiter: string, key: string): LiveLimits | undefined;
  /**
   * Keys of the limiter that were reset within the last minute, with the time in milliseconds since the epoch. When
   * this map changes, {@link settingsOf} must return a new object. If `redisControl` has `hashKeys`, the keys are
   * hashes.
   */
  resetsOf?(limiter: string): ReadonlyMap<string, number>;
  /** True if the storage has lost the settings. The last known settings stay in effect. */
  readonly settingsLost?: boolean;
  /**
   * Called for each limiter of a new guard and for each new limiter without HTTP, with the declared rule if the limiter
   * has counts. From these calls the control knows the limiter names, so it can warn an operator who uses another name.
   * Must return at once and never throw.
   */
  register?(limiter: string, rule?: Rule): void;
}
