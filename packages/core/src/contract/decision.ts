/** What a limiter or shedder says of one request. */

/**
 * What became of a request at one limiter; disjoint, so that they sum to the requests.
 *
 * - `allowed`: it passed, and was charged if the whole guard let it pass.
 * - `denied`: refused.
 * - `would-deny`: a limiter in shadow mode would have refused it.
 * - `skipped`: the limiter is off, or the request is exempt.
 * - `error`: the store could not answer; `allowed` says what the fallback chose.
 */
export type Outcome = 'allowed' | 'denied' | 'would-deny' | 'skipped' | 'error';

/**
 * Why a request was refused: `rate`, `concurrency` (too much from this caller: 429), `capacity`, `overload` (we are
 * full: 503), `never` (the cost exceeds what the limit can ever admit, or the limit is 0: 429), `blocked` (the key was
 * blocked live: 403), `store-error` (the store could not answer and the limiter is set to deny: 503).
 */
export type Reason =
  | 'rate'
  | 'concurrency'
  | 'capacity'
  | 'overload'
  | 'never'
  | 'blocked'
  | 'store-error';

/** The numbers of a limit as they are told to clients. */
export interface Policy {
  /** Name of the limiter. */
  readonly name: string;
  /** What is counted: `requests` per window, or `concurrent-requests`, which have no window. */
  readonly unit: 'requests' | 'concurrent-requests';
  /** Units per window; of concurrent requests, at once. */
  readonly limit: number;
  /** Window in milliseconds; `Infinity` where there is none. */
  readonly windowMs: number;
  /** Units at once. */
  readonly burst: number;
}

/** The numbers of a decision, exact; NaN where the store could not say. */
export interface Numbers {
  /** Units left after this decision, rounded down. */
  readonly remaining: number;
  /**
   * Milliseconds until the same cost would pass, if nobody else comes: 0 if at once, `Infinity` if never. Of what is in
   * progress, and of load, nobody can know: there it is a hint, one to two times the `retryAfter` of the limiter.
   */
  readonly retryAfterMs: number;
  /** Milliseconds until the key is as if it had never been used; NaN where that cannot be known. */
  readonly resetMs: number;
}

/** The answer of one limiter to one request. */
export interface Decision extends Numbers {
  readonly limiter: string;
  /** Whether this limiter lets the request pass. True also for `would-deny` and `skipped`. */
  readonly allowed: boolean;
  readonly outcome: Outcome;
  /** Why it was, or in shadow mode would have been, refused; null if it passes. */
  readonly reason: Reason | null;
  /** Units asked. */
  readonly cost: number;
  /** The limit that was applied; absent for shedders, and where the limiter was skipped. */
  readonly policy?: Policy | undefined;
  /** The load signal for which a shedder refused; absent otherwise. */
  readonly signal?: string | undefined;
  /** The request's class, where a shedder asked for it. */
  readonly priority?: string | undefined;
}
