/** What a limiter or load shedder decides about one request: the modes, the numbers, the HTTP status of a rejection. */

/**
 * What became of a request at one limiter. Each request has exactly one outcome, so they add up to the requests.
 *
 * - `allowed`: it passed, and was charged if the whole guard let it pass.
 * - `denied`: refused.
 * - `would-deny`: a limiter in shadow mode would have refused it.
 * - `replayed`: it repeats a request that was done. If no limiter refused it, it got the answer that was kept, and
 *   nothing was charged.
 * - `would-replay`: so it would have been if the limiter were not in shadow mode.
 * - `skipped`: the limiter is off, or the request is exempt or does not concern it.
 * - `error`: the store could not answer; `allowed` says what the fallback chose.
 */
export type Outcome =
  | 'allowed'
  | 'denied'
  | 'would-deny'
  | 'replayed'
  | 'would-replay'
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
  /** Whether this limiter lets the request pass. True also for `would-deny`, `would-replay` and `skipped`. */
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

/** `enforce`: refuse. `shadow`: refuse nobody, but say what would be refused. `off`: do not run the limiter. */
export type Mode = (typeof MODES)[number];

export const MODES = ['enforce', 'shadow', 'off'] as const;

/**
 * What a limiter does when the store cannot answer: let the request pass, refuse it with 503, or count in this process.
 */
export type OnStoreError = (typeof ON_STORE_ERROR)[number];

export const ON_STORE_ERROR = ['allow', 'deny', 'local'] as const;

/** 4xx says that the caller is the reason, 503 that we are. */
const STATUSES: Readonly<Record<Reason, number>> = {
  rate: 429,
  concurrency: 429,
  never: 429,
  blocked: 403,
  capacity: 503,
  overload: 503,
  running: 409,
  mismatch: 422,
  'key-invalid': 400,
  'not-kept': 409,
  'store-error': 503,
};

/** The status of a refusal. */
export function statusOf({ reason, status }: Decision): number {
  return status ?? STATUSES[reason as Reason] ?? 503; // a user's own limiter may give no reason
}

/**
 * The decision that counts. Of refusals: first those of limits that are about the caller (429, 403), then those that
 * are about our load (503), then those that are about an idempotency key, and among them the one with the longest wait.
 * If nothing is refused: the one with the least `remaining`; one that was skipped has none.
 */
export function bindingOf(decisions: readonly Decision[]): Decision {
  return decisions.reduce((binding, decision) => {
    if (binding.allowed !== decision.allowed) return binding.allowed ? decision : binding;
    if (decision.allowed) {
      const isNearer = decision.remaining < binding.remaining || binding.outcome === 'skipped';
      return isNearer ? decision : binding;
    }
    const later = rankOf(decision) - rankOf(binding);
    if (later !== 0) return later < 0 ? decision : binding;
    return decision.retryAfterMs > binding.retryAfterMs ? decision : binding;
  });
}

function rankOf(decision: Decision): number {
  if (decision.outcome === 'replayed') return 3;
  const status = statusOf(decision);
  if (status === 503) return 1;
  return status === 429 || status === 403 ? 0 : 2;
}

export function skippedDecision(limiter: string): Decision {
  return {
    limiter,
    allowed: true,
    outcome: 'skipped',
    reason: null,
    cost: 0,
    used: Number.NaN,
    remaining: Number.NaN,
    retryAfterMs: 0,
    resetMs: Number.NaN,
  };
}

/** What is rejected without asking the store. */
export function deniedDecision(
  limiter: string,
  mode: Mode,
  reason: 'blocked' | 'never',
  retryAfterMs: number,
): Decision {
  const enforced = mode === 'enforce';
  const outcome = enforced ? 'denied' : 'would-deny';
  const nothing = skippedDecision(limiter);
  return { ...nothing, allowed: !enforced, outcome, reason, remaining: 0, retryAfterMs };
}
