import type { Decision } from './decision.js';
import type { ResponseEnd } from './limiter-turn.js';
import type { StoredResponse } from './recorder.js';
import type { Header } from './request.js';

/** What {@link Guard.admit} returns. */
export interface Admission {
  readonly allowed: boolean;
  /** One decision for each limiter, in the order of the guard. */
  readonly decisions: readonly Decision[];
  /** The rejection that determines the response; undefined if the request is allowed or replayed. */
  readonly binding: Decision | undefined;
  /**
   * The stored response to send instead of running a handler, if the request is a replay. Its headers are sent in
   * addition to `headers`.
   */
  readonly replay?: StoredResponse | undefined;
  /**
   * 200 if allowed. For a rejection, the default status of its reason, such as 429, 403 (blocked key) or 503, unless an
   * option sets another. For a replay, the stored status.
   */
  readonly status: number;
  readonly headers: readonly Header[];
  /** Body of a rejection: a problem document (RFC 9457). Otherwise empty. */
  readonly body: string;
  /** The guard that decided. An adapter uses it to detect a guard that is mounted twice. */
  readonly guard?: object;
  /** Whether {@link release} has anything to do. If not, the adapter doesn't need to watch the response. */
  readonly pending: boolean;
  /**
   * Call this when the response has closed, for any reason. Only the first call has an effect. Await the returned
   * promise only on platforms that stop all work when the response ends; it never rejects.
   */
  release(outcome: ResponseEnd): Promise<void> | undefined;
}
