/** What a limiter or load shedder decides about one request. */

/**
 * What became of a request at one limiter. Each request has exactly one outcome, so they add up to the requests.
 *
 * - `allowed`: it passed, and was charged if the whole guard let it pass.
 * - `denied`: refused.
 * - `would-deny`: a limiter in shadow mode would have refused it.
 * - `repeated`: it repeats a request that was done. If no limiter refused it, it got the answer that was kept, and
 *   nothing was charged.
 * - `would-repeat`: so it would have been if the limiter were not in shadow mode.
 * - `skipped`: the limiter is off, or the request is exempt or does not concern it.
 * - `error`: the store could not answer; `allowed` says what the fallback chose.
 */
export type Outcome =
  | 'allowed'
  | 'denied'
  | 'would-deny'
  | 'repeated'
  | 'would-repeat'
  | 'skipped'
  | 'error';

/**
 * Why a request was refused: `rate`, `concurrency` (the caller did too much: 429), `capacity`, `overload` (we are
 * overloaded: 503), `never` (the cost is more than the limit can ever admit, or the limit is 0: 429), `blocked` (an
 * operator blocked the key: 403), `running` (a request with the same idempotency key is in progress: 409), `mismatch`
 * (the idempotency key belongs to another request: 422), `key-invalid` (the idempotency key is missing or no key: 400),
 * `not-kept` (the request was done, but its answer was not kept: 409), `store-error` (the store could not answer and
 * the limiter is set to deny: 503).
 */
export type Reason =
  | 'rate'
  | 'concurrency'
  | 'capacity'
  | 'overload'
  | 'never'
  | 'blocked'
  | 'running'
  | 'mismatch'
  | 'key-invalid'
  | 'not-kept'
  | 'store-error';

/** The numbers of a limit as clients see them. */
export interface Policy {
  /** Name of the limiter. */
  readonly name: string;
  /** What is counted: `requests` per window, or `concurrent-requests`, which have no window. */
  readonly unit: 'requests' | 'concurrent-requests';
  /** Units per window; for concurrent requests, how many at once. */
  readonly limit: number;
  /** Window in milliseconds; `Infinity` for concurrent requests. */
  readonly windowMs: number;
  /** Units at once. */
  readonly burst: number;
  /** Name of the plan that the numbers come from. Absent if no plan applied, or if it has no name. */
  readonly plan?: string;
}

/** The numbers of a decision, exact; NaN where the store could not answer. */
export interface Numbers {
  /**
   * Units that count after this decision, rounded up: of a bucket those that have not refilled, of a window those of
   * this window and the part of the previous one that still counts, of a log those of the last window, of requests in
   * progress the permits that are held. More than the limit, where the limit was lowered meanwhile.
   */
  readonly used: number;
  /** Units left after this decision, rounded down. */
  readonly remaining: number;
  /**
   * Milliseconds until the same cost would pass if no other request comes: 0 if it passes at once, `Infinity` if it
   * never does. For requests in progress and for load nobody can know; there it is a hint, one to two times the
   * limiter's `retryAfter`.
   */
  readonly retryAfterMs: number;
  /** Milliseconds until the key is as if it had never been used; NaN where that cannot be known. */
  readonly resetMs: number;
}

/** One limiter's answer to one request. */
export interface Decision extends Numbers {
  readonly limiter: string;
  /** Whether this limiter lets the request pass. True also for `would-deny`, `would-repeat` and `skipped`. */
  readonly allowed: boolean;
  readonly outcome: Outcome;
  /** Why it was refused, or would have been in shadow mode; null if it passes. */
  readonly reason: Reason | null;
  /** The HTTP status of the refusal, where it is not that of the reason. */
  readonly status?: number | undefined;
  /** Units that the request takes. */
  readonly cost: number;
  /** The limit that was applied; absent for shedders, and where the limiter was skipped. */
  readonly policy?: Policy | undefined;
  /** The load signal that made a shedder refuse; else absent. */
  readonly signal?: string | undefined;
  /** The request's class, if a shedder asked for it. */
  readonly priority?: string | undefined;
}
