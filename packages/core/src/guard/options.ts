/** What a guard is, and what can be asked of it. */

import type { Admission } from '../contract/admission.js';
import type { Control } from '../contract/control.js';
import type { Fault } from '../contract/fault.js';
import type { Mode } from '../contract/mode.js';
import type { DecisionEvent, Observer } from '../contract/observer.js';
import type { LimitRequest, Per } from '../contract/request.js';
import type { Store } from '../contract/store.js';
import type { HeaderStyle } from '../http/response-writer.js';
import type { ResilienceOptions } from '../stores/stack.js';

export interface GuardOptions<Raw = unknown> extends ResilienceOptions {
  /**
   * Where counts live; there limiters count by their name. Default: this process's memory, where each limiter object
   * counts apart, and one that stands in several guards counts once for all of them.
   */
  readonly store?: Store | undefined;
  /** Which rate limit fields to send. Default `['draft-11']`; `'legacy'` adds `X-RateLimit-*`; `[]` sends none. */
  readonly headers?: readonly HeaderStyle[] | undefined;
  /** The status for a key that was blocked live. Default 403; 429 for clients that know only that. */
  readonly blockedStatus?: 403 | 429 | undefined;
  /** `enforce` (default), `shadow` or `off` for all limiters of the guard: none is stricter than this. */
  readonly mode?: Per<Raw, Mode> | undefined;
  /** What operators set live: modes, shares, limits, blocked and allowed keys. Default: nothing. */
  readonly control?: Control | undefined;
  /**
   * Whether a key that was refused is refused again, until the moment it was promised, without asking a store that
   * answers later.
   * What this process gives back through the same store object is noticed at once, refunds and resets by others within
   * a minute. Default true.
   */
  readonly denialCache?: boolean | undefined;
  /**
   * What becomes of CORS preflights (`OPTIONS` with `Origin` and `Access-Control-Request-Method`): `pass` (default)
   * lets them by
   * uncounted; `count` treats them as any request. Choose `count` where they reach a handler that works for any method.
   */
  readonly preflights?: 'pass' | 'count' | undefined;
  /** Requests that no limiter sees, beside preflights. Only `true` skips; a promise is a fault. */
  readonly skip?: ((request: LimitRequest<Raw>) => boolean) | undefined;
  /** Told of every decision. The key is for logs that hash it: see {@link Observer}. */
  readonly onDecision?: ((event: DecisionEvent, key: string | undefined) => void) | undefined;
  /**
   * Told when a callback of yours throws or returns junk, and when the store fails; without it, `logger` is, once a
   * minute for each.
   */
  readonly onFault?: ((fault: Fault) => void) | undefined;
  /** Others that watch, such as those of `@spillway/prometheus` and `@spillway/opentelemetry`. */
  readonly observers?: readonly Observer[] | undefined;
}

/** Runs limiters over requests; what {@link createGuard} returns. */
export interface Guard<Raw = unknown> {
  /** Decides on a request; at once if the store answers at once. Never throws, never rejects. */
  admit(request: LimitRequest<Raw>): Admission | Promise<Admission>;
  /**
   * Gives back the permits of all requests still in progress, so that they need not expire, and waits until the store
   * has
   * them, at most 5 s: for a process that ends. Call it once the server takes no more requests. Never rejects.
   */
  close(): Promise<void>;
  /** Permits that requests of this process hold now: a gauge. */
  readonly inProgress: number;
}
