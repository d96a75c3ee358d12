/** What a guard decided about a request: the response, and what to call when the response has closed. */

import type { Decision } from './decision.js';
import type { ResponseEnd } from './limiter-turn.js';
import type { StoredResponse } from './recorder.js';
import type { Header } from './request.js';

/** What {@link Guard.admit} returns. */
export interface Admission {
  /** Whether the request may go on. */
  readonly allowed: boolean;
  /** One decision for each limiter, in the order of the guard. */
  readonly decisions: readonly Decision[];
  /**
   * The rejection that determines the response. If several rank equally, it is the one with the longest wait. Undefined
   * if the request is allowed or replayed.
   */
  readonly binding: Decision | undefined;
  /**
   * The stored response to send instead of running a handler, if the request is a replay. Then `status` and `headers`
   * come from this response.
   */
  readonly replay?: StoredResponse | undefined;
  /** 200 if allowed. For a rejection, the status of its reason, such as 429, 403 (blocked key) or 503. */
  readonly status: number;
  /** Headers for the response, whether the request is allowed or rejected. */
  readonly headers: readonly Header[];
  /** Body of a rejection: a problem document (RFC 9457). Empty if allowed. */
  readonly body: string;
  /** The guard that decided. An adapter uses it to detect a guard that is mounted twice. */
  readonly guard?: object;
  /** Whether {@link release} has anything to do. If not, the adapter doesn't need to watch the response. */
  readonly pending: boolean;
  /**
   * Call this when the response has closed, for any reason. Only the first call has an effect. Never throws.
   *
   * Returns a promise if the store or a callback is still working. It never rejects. Await it only on platforms that
   * stop all work when the response ends; the response doesn't need to wait for it.
   */
  release(outcome: ResponseEnd): Promise<void> | undefined;
}
