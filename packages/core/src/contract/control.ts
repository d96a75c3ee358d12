/** The seam between a guard and what operators set live. */

import type { Duration } from '../base/duration.js';
import type { Mode } from './mode.js';
import type { Rule } from './rule.js';

/** Numbers of a limit set live, in place of those it was declared with. */
export interface LiveLimits {
  /** Units per window; of a concurrency limit the requests at once, of a fleet shedder the capacity. */
  readonly limit?: number;
  /** Rate limits only. */
  readonly window?: Duration;
  /** Token buckets only. */
  readonly burst?: number;
}

/** What is set live for one limiter; what is left out stays as declared. */
export interface LimiterSettings {
  readonly mode?: Mode;
  /** Of a stored limiter: the share of keys for which it is enforced, 0 to 1; for the others it is in shadow. */
  readonly share?: number;
  /** The same object as long as the numbers are the same: rules are made from it once. */
  readonly limits?: LiveLimits;
}

/** What was decided about one key of a limiter. */
export interface KeyRuling {
  /** `allow`: the limiter does not see it. `block`: it is refused. */
  readonly verdict: 'allow' | 'block';
  /** How much longer, in milliseconds. */
  readonly endsInMs: number;
}

/**
 * Where live settings come from. Both methods are called for each request: they answer from memory, at once, and do not
 * throw. What cannot be obeyed counts as not set, and is told as a fault.
 */
export interface Control {
  /**
   * The same object as long as nothing was changed that concerns the limiter: a new one makes guards forget what they
   * refused.
   */
  settingsOf(limiter: string): LimiterSettings | undefined;
  rulingOn(limiter: string, key: string): KeyRuling | undefined;
  /**
   * Keys of the limiter that were reset within the last minute, and when, in milliseconds since the epoch: for what
   * keeps counts beside the store. Whenever it changes, so does the object of {@link settingsOf}. Keys are as the
   * control stores them: hashes, if it has `hashKeys`.
   */
  resetsOf?(limiter: string): ReadonlyMap<string, number>;
  /**
   * Told of each limiter of each guard when the guard is made, with the rule that it was declared with if it keeps
   * counts: operators are then told of names that do not exist. Returns at once, and never throws.
   */
  register?(limiter: string, rule?: Rule): void;
}
