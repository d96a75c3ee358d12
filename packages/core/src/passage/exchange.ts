/** What a guard needs of a request and its response, whatever the framework: each HTTP world brings an exchange. */

import type { Admission } from '../contract/admission.js';
import type { ResponseEnd } from '../contract/limiter-turn.js';
import type { Recorder, Recorders, StoredResponse } from '../contract/recorder.js';

/** Called once when a response has closed. A promise says that the store answers later; it never rejects. */
export type OnClosed = (outcome: ResponseEnd) => Promise<void> | undefined;

/**
 * One request and its response, as a {@link Gate} uses them. An adapter makes one for each request; it decides nothing.
 * What it throws, the gate catches: that is a fault, and the request passes.
 */
export interface Exchange {
  /**
   * Told what the guard decided, before all else: for adapters that show it to handlers in their framework's own way. A
   * guard that is asked again about the same request tells its decision of the first time again.
   */
  decided?(admission: Admission): void;
  /**
   * Whether nobody waits for the response any more: the client went away, or somebody else has ended the response. The
   * gate asks only after a store that answered later.
   */
  isGone(): boolean;
  /**
   * Calls `closed` once, when the response has closed: sent, failed or aborted. Where no connection carries the
   * response (Lambda adapters, tests of handlers) it calls when the response has finished; if that is over already, it
   * calls at once. `aborted` is true if the client went away first; `status` is left out unless the head of the
   * response was sent. The gate asks for it only when there is something to give back.
   */
  onClosed(closed: OnClosed): void;
  /** The value of a field of the response that is set already; undefined, null or '' if there is none. */
  getHeader(name: string): unknown;
  /**
   * Sets a field of the response, refused or not, in place of one of its name. Does nothing once the head was sent. The
   * gate sets every field of the admission but `Content-Type`, which is of the refusal's body.
   */
  setHeader(name: string, value: string): void;
  /**
   * Answers with the status and the body of a refusal, and `PROBLEM_TYPE` as its `Content-Type`; its other fields
   * are set already. An adapter that lets the app answer keeps `admission` here, and answers when the gate has said
   * `refused`: what an app's own answer throws is no fault of the adapter.
   */
  reject(admission: Admission): void;
  /**
   * For guards with `idempotency()`: sees the body of the request and the answer of its handler. Called once for each
   * request that has an idempotency key, when its client is about to be let in or answered. Leave it out where that is
   * not possible; then a guard with `idempotency()` throws.
   *
   * @param recorders make those of node:http and fetch
   */
  recorder?(recorders: Recorders): Recorder;
  /**
   * For guards with `idempotency()`: answers with what was kept of another response to the same request. The fields of
   * the admission are set already.
   */
  replay?(answer: StoredResponse): void;
}
