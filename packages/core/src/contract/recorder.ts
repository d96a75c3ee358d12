/** How `idempotency()` sees request bodies and responses through an exchange. */

import type { Header } from './request.js';

/** A stored response, as it is replayed. */
export interface StoredResponse {
  readonly status: number;
  readonly headers: readonly Header[];
  readonly body: Uint8Array;
}

/** Sees the bytes of a request's body. */
export interface BodyWatcher {
  /** The next bytes as the client sent them. The buffer may be reused after the call. */
  chunk(bytes: Uint8Array): void;
  /** All bytes were seen. Not called if the body isn't read to its end or if some bytes can't be seen. */
  end(): void;
  /** The client left before it had sent the whole body. Called only if the body is being read. */
  cut(): void;
}

/** Sees the response of a handler. */
export interface ResponseWatcher {
  /**
   * Called first, with the status and headers set by the handler. If the handler fails before they are sent, it is
   * called again with those of the next response.
   *
   * @param field the value of a header; undefined if it is missing
   */
  head(status: number, field: (name: string) => string | undefined): void;
  /** The next bytes of the body. The buffer may be reused after the call. Returns whether it needs further bytes. */
  chunk(bytes: Uint8Array): boolean;
  /**
   * The handler has finished, and all bytes were seen. If it returns a promise, the response must not end before that
   * settles. The promise never rejects.
   */
  end(): Promise<void> | undefined;
  /** Called after `end` if the response could not be sent. Another one may follow. */
  unsent(): void;
  /** The handler has failed, or its response was aborted. `end` will not be called. */
  fail(): void;
}

/** Limits on reading a body. */
export interface BodyLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

/** `whole`: all bytes were seen. `unknown`: the body was already read by other code, or the client has gone. */
export type BodyEnd = 'whole' | 'too-large' | 'late' | 'unknown';

/** Sees the body of one request and the response of its handler. */
export interface Recorder {
  /** The query of the request as it was sent, without `?`; empty if there is none. */
  readonly query: string;
  /** The host that the client sent, with the port if it sent one; empty if it sent none. */
  readonly host: string;
  /** The body as parsed by a body parser before the guard; undefined if none has run. */
  parsedBody(): unknown;
  /**
   * Shows the body as it passes to the handler, without reading it. If the body was read before, it returns a promise,
   * and the handler must wait until the watcher has seen all of it.
   */
  watchBody(watcher: BodyWatcher): void | Promise<void>;
  /** Reads the body of a request that is not passed to a handler. Never rejects. */
  readBody(watcher: BodyWatcher, limits: BodyLimits): Promise<BodyEnd>;
  /** Shows the response of the handler, before compression if possible. */
  watchResponse(watcher: ResponseWatcher): void;
}

/**
 * Makes the recorders for node:http and fetch. `idempotency()` supplies them: a guard without it doesn't have the code
 * that sees bodies and responses.
 */
export interface Recorders {
  /**
   * @param target the request's target as it was sent
   * @param parsed returns the parsed body, wherever the framework stores it
   */
  node(req: object, res: object, target: string, parsed: () => unknown): Recorder;
  /** @param show receives what wraps the response, once the handler has made it */
  fetch(request: object, show: (answer: ShownResponse) => void): Recorder;
}

/** Wraps the response of a fetch handler to see it. */
export interface ShownResponse {
  /**
   * Returns the response to send instead of `response`. `kept` is set if the response has no body: send it only after
   * that settles.
   */
  see<Res>(
    response: Res,
    sendsBody: boolean,
  ): { readonly response: Res; readonly kept: Promise<void> | undefined };
  /** The handler returned no response. */
  fail(): void;
}
