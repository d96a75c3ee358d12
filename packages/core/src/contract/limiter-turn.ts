/** One limiter's part in one request: what it is lent, what it was asked, and what came of it. */

import type { Answer } from './ask.js';
import type { LiveLink } from './control-link.js';
import type { Decision, Mode, OnStoreError } from './decision.js';
import type { Fault } from './observer.js';
import type { LimitRequest } from './request.js';
import type { Step } from './store.js';

/** How a response ended, as an adapter tells it to {@link Admission.release}. */
export interface ResponseEnd {
  /** The status of the response, if one was sent. */
  readonly status?: number;
  /** True if the client went away before the response was complete. */
  readonly aborted?: boolean;
}

/** What a guard lends its limiters. */
export interface StepContext {
  readonly onStoreError: OnStoreError;
  fault(fault: Fault): void;
  /**
   * What to write as {@link Step.limiter} in place of the name: without a store each limiter object has its own count.
   */
  readonly countedAs?: string | undefined;
  /** How live numbers are read; undefined without a control. */
  readonly live?: LiveLink | undefined;
  /** How long to wait for a callback that answers with a promise, in milliseconds. Default 1,000. */
  readonly callbackTimeoutMs?: number | undefined;
}

/** What a limiter was asked about a request, and what came of it. */
export interface LimiterTurn<Raw = unknown> {
  readonly request: LimitRequest<Raw>;
  /** How far the limiter went: as declared, or as set live. */
  readonly mode: Mode;
  /** Of a stored limiter: the question to the store. */
  readonly step?: Step | undefined;
  /** Of a stored limiter: the store's answer. */
  readonly answer?: Answer | undefined;
  readonly decision: Decision;
}
