/** What to do about a store that is slow or fails, checked. */

import type { OnStoreError } from './mode.js';

/** Limiters that use the store, and what each does when it cannot answer. */
export type Policies = readonly (readonly [limiter: string, policy: OnStoreError])[];

export interface BreakerSettings {
  /** Calls in a row that must fail before a part of the store is taken for down. */
  readonly failures: number;
  /** How often, at most, it is asked meanwhile whether it is back, in microseconds. */
  readonly probeUs: number;
  /** What takes longer is slow, in microseconds; left out: what takes longer than in healthy minutes. */
  readonly slowUs?: number | undefined;
}

export interface Resilience {
  /** How long a request waits for the store, in microseconds. */
  readonly timeoutUs: number;
  /** Undefined: there is none. */
  readonly breaker: BreakerSettings | undefined;
  readonly policies: Policies;
}
