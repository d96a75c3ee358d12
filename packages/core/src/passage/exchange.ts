import type { Admission } from '../contract/admission.js';
import type { ResponseEnd } from '../contract/limiter-turn.js';
import type { Recorder, Recorders, StoredResponse } from '../contract/recorder.js';

/** Called once when a response has closed. If the store answers later, returns a promise, which never rejects. */
export type OnClosed = (outcome: ResponseEnd) => Promise<void> | undefined;

/**
 * One request and its response, as a {@link Gate} uses them. Adapters make an exchange for each request. If a method
 * throws, the gate reports a fault and the request passes.
 */
export interface Exchange {
  /**
   * Called first, so that an adapter can pass the admission to handlers in its framework's way. If the guard runs again
   * for the same request, this is called again with the first admission.
   */
  decided?(admission: Admission): void;
  /**
   * Whether the response is no longer needed: the client disconnected, or other code has ended it. Called only if the
   * guard had to wait: for the store, a callback, or a running request with the same idempotency key.
   */
  isGone(): boolean;
  /**
   * Calls `closed` once when the response has closed: sent, failed or aborted. Without a connection (Lambda adapters,
   * tests of handlers), calls it when the response has finished, or at once if it already has. `aborted` is true if the
   * client disconnected first. `status` is omitted unless the status line was sent. Called only if the admission is
   * {@link Admission.pending}.
   */
  onClosed(closed: OnClosed): void;
  /** The value of a response header that is already set; undefined, null or '' if there is none. */
  getHeader(name: string): unknown;
  /**
   * Sets a response header, replacing one of the same name, on admitted and rejected requests. Does nothing once the
   * headers were sent. The gate sets all headers of the admission except `Content-Type`, which belongs to the body of a
   * rejection.
   */
  setHeader(name: string, value: string): void;
  /**
   * Sends the status and the body of a rejection, with `PROBLEM_TYPE` as its `Content-Type`; the other headers are
   * already set.
   *
   * If the app sends a custom response, the adapter only stores `admission` here. It runs the app's code when the gate
   * returns `rejected`, because exceptions in this method count as faults of the adapter.
   */
  reject(admission: Admission): void;
  /**
   * Shows the request's body and the handler's response to a guard with `idempotency()`. Called at most once per
   * request with an idempotency key, before its handler runs or it is answered. Omit it if the framework cannot do
   * that. A guard with `idempotency()` then throws.
   *
   * @param recorders creates recorders for node:http and fetch
   */
  recorder?(recorders: Recorders): Recorder;
  /** Sends a stored response, for guards with `idempotency()`. The headers of the admission are already set. */
  replay?(answer: StoredResponse): void;
}
