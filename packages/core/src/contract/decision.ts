/**
 * The result of a request at one limiter. Each request has exactly one outcome, so the counts of all outcomes add up to
 * the number of requests.
 *
 * - `allowed`: it passed. It was charged if all limiters of the guard let it pass.
 * - `denied`: it was rejected.
 * - `would-deny`: a limiter in shadow mode would have rejected it.
 * - `replayed`: it repeats a finished request. Nothing was charged. It got the stored response, unless another limiter
 *   rejected it.
 * - `would-replay`: a limiter in shadow mode would have replayed the stored response.
 * - `skipped`: the limiter is off, the request is exempt, the limiter doesn't apply to it, or an override allows the
 *   key. Also if another limiter rejected the request without calling the store, or if a limiter that needs no store
 *   failed.
 * - `error`: the store could not answer. Also if a custom stored limiter or the `scope` of `idempotency()` failed. The
 *   property `allowed` says whether the request passed anyway.
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
 * Why a request was rejected, with the default status:
 *
 * - `rate`, `concurrency`: the caller did too much (429).
 * - `capacity`, `overload`: the service is overloaded (503).
 * - `never`: the cost is more than the limit can ever admit, or the limit is 0 (429). A fleet shedder whose capacity is
 *   0 has the reason `capacity` instead.
 * - `blocked`: an operator has blocked the key (403).
 * - `running`: a request with the same idempotency key is in flight (409).
 * - `mismatch`: the idempotency key belongs to a different request, or the requests can't be compared (422). If the
 *   retry's body is too large to compare, the status is 413; if it arrives too late, 408.
 * - `key-invalid`: the idempotency key is missing or invalid (400).
 * - `not-kept`: an earlier request with the same idempotency key was finished, but its response was not stored (409).
 * - `store-error`: the store, a custom limiter or the `scope` of `idempotency()` failed, and the limiter has
 *   `onStoreError: 'deny'` (503). Also if `idempotency()` could not read a stored response.
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
  readonly name: string;
  /** What is counted: `requests` per window, or `concurrent-requests` (without a window). */
  readonly unit: 'requests' | 'concurrent-requests';
  /** Units per window, or concurrent requests. */
  readonly limit: number;
  /**
   * The window in milliseconds. By calendar: 24 hours for a day, 7 days for a week, 31 days for a month. `Infinity` for
   * billing periods and concurrent requests.
   */
  readonly windowMs: number;
  /** The most units that pass at once. */
  readonly burst: number;
  /** Name of the plan that supplied the numbers. Absent if no plan applied or if it has no name. */
  readonly plan?: string;
}

/** The exact numbers of a decision. A number is NaN if it is unknown, such as when the store could not answer. */
export interface Numbers {
  /**
   * Units that count after this decision, rounded up. They may exceed the limit if it was lowered, has `overage` or a
   * meter that charges afterwards, or never rejects critical requests.
   *
   * - Token bucket: units that have not refilled.
   * - Window: units of this window, plus the part of the previous one that still counts.
   * - Log: units of the last window.
   * - Concurrency: permits held.
   */
  readonly used: number;
  /** Units left after this decision, rounded down. */
  readonly remaining: number;
  /**
   * Milliseconds until the same cost would pass if there are no other requests: 0 if it passes now, `Infinity` if it
   * never passes. With `overage`: until the cost would be within the limit. Concurrency limits, load shedders and
   * running idempotency keys can't know the time and give a hint: see their option `retryAfter`.
   */
  readonly retryAfterMs: number;
  /**
   * Milliseconds until the whole limit is available again if there are no other requests; NaN if that can't be known.
   */
  readonly resetMs: number;
}

/** What one limiter decided about one request. */
export interface Decision extends Numbers {
  readonly limiter: string;
  /** Whether this limiter lets the request pass. Also true for `would-deny`, `would-replay` and `skipped`. */
  readonly allowed: boolean;
  readonly outcome: Outcome;
  /** Why the limiter rejected the request, or in shadow mode would have rejected it; otherwise null. */
  readonly reason: Reason | null;
  /** The HTTP status of the rejection, if the limiter sets one. Otherwise, the default for the reason applies. */
  readonly status?: number | undefined;
  readonly cost: number;
  /** True if the key has used more than the limit and the limiter admits this: see its option `overage`. */
  readonly over?: true | undefined;
  /**
   * The limit that was applied. Absent for load shedders, idempotency keys, rejections by a limit of 0, and skipped or
   * blocked requests.
   */
  readonly policy?: Policy | undefined;
  /** The load signal that made a load shedder reject; absent otherwise. */
  readonly signal?: string | undefined;
  /** The priority class of the request, from a load shedder. A fleet shedder sets it only for critical requests. */
  readonly priority?: string | undefined;
}

/** `enforce`: reject. `shadow`: reject nothing, but report what would be rejected. `off`: don't run the limiter. */
export type Mode = (typeof MODES)[number];

export const MODES = ['enforce', 'shadow', 'off'] as const;

/**
 * What a limiter does when the store can't answer: let the request pass (`allow`), reject it with 503 (`deny`), or
 * decide with fallback counters in this process (`local`).
 */
export type OnStoreError = (typeof ON_STORE_ERROR)[number];

export const ON_STORE_ERROR = ['allow', 'deny', 'local'] as const;

/** The default status of a rejection by its reason. 4xx: the cause is the caller. 503: the cause is the service. */
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

export function statusOf({ reason, status }: Decision): number {
  return status ?? STATUSES[reason as Reason] ?? 503; // a custom limiter may omit the reason
}

/**
 * Returns the decision that determines the response. If some decisions don't allow the request, returns the first of
 * them in this order: status 429, 403 or 402 (the caller is the cause), 503, any other status, a replay. Among equals,
 * the one with the longest wait. If all allow the request, returns the one with the least known `remaining`, and a
 * skipped one only if all are skipped.
 */
export function bindingOf(decisions: readonly Decision[]): Decision {
  return decisions.reduce((binding, decision) => {
    if (binding.allowed !== decision.allowed) return binding.allowed ? decision : binding;
    if (decision.allowed) {
      const least = Number.isNaN(binding.remaining) ? Infinity : binding.remaining;
      return decision.remaining < least || binding.outcome === 'skipped' ? decision : binding;
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
  return status === 429 || status === 403 || status === 402 ? 0 : 2;
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
