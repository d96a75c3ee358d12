/** The outcome of a guard for one request: what to answer, and what to do when the response has closed. */

import type { Decision } from './decision.js';
import type { ResponseEnd } from './limiter-turn.js';
import type { StoredResponse } from './recorder.js';
import type { Header } from './request.js';

/** What {@link Guard.admit} returns. */
export interface Admission {
  /** Whether the request may go on. */
  readonly allowed: boolean;
  /** One for each limiter, in the order of the guard. */
  readonly decisions: readonly Decision[];
  /** Of several refusals the one with the longest wait; undefined if the request is allowed, or is a repeat. */
  readonly binding: Decision | undefined;
  /**
   * The answer to give, if the request repeats one that was done: `status` and the fields of the admission are then of
   * that answer too, and its body is here. No handler is to run.
   */
  readonly replay?: StoredResponse | undefined;
  /** 429, 403 (a key that was blocked), 503 or the status of another reason if refused; 200 if not. */
  readonly status: number;
  /** Fields for the response, refused or not. */
  readonly headers: readonly Header[];
  /** Body of a refusal, a problem document; empty if allowed. */
  readonly body: string;
  /** The guard that said it: by it an adapter knows a guard that is mounted twice. */
  readonly guard?: object;
  /** Whether {@link release} has anything to do; if not, an adapter need not watch the response. */
  readonly pending: boolean;
  /**
   * To be called when the response has closed, however. Works once; never throws. A promise, if the store or a callback
   * answers later, is for platforms that end all work with the response; it never rejects, and no response waits for
   * it.
   */
  release(outcome: ResponseEnd): Promise<void> | undefined;
}
