/** How a limiter that keeps answers sees a request and its response: what an exchange can do for it. */

import type { Header } from './request.js';

/** An answer as it is given to repeats. */
export interface StoredResponse {
  readonly status: number;
  readonly headers: readonly Header[];
  readonly body: Uint8Array;
}

/** Sees the bytes of a request's body. */
export interface BodyWatcher {
  /** The next bytes, as the client sent them. They may change after the call. */
  chunk(bytes: Uint8Array): void;
  /** Every byte was seen. Not called if the body is not read to its end, or if some bytes cannot be seen. */
  end(): void;
  /** The client left before all of the body had come. Called where somebody reads it. */
  cut(): void;
}

/** Sees the answer that a handler gives. */
export interface ResponseWatcher {
  /**
   * The head of the answer, as the handler has made it, before anything else. If the handler fails before the head was
   * sent, another head comes.
   *
   * @param field the value of a field; undefined if there is none
   */
  head(status: number, field: (name: string) => string | undefined): void;
  /** The next bytes of the body, which may change after the call. Answers whether more are of any use. */
  chunk(bytes: Uint8Array): boolean;
  /**
   * The handler has finished, and every byte was seen. If a promise comes back, the response must not end before it
   * settles. It never rejects.
   */
  end(): Promise<void> | undefined;
  /** After `end`: the answer could not be sent, and another one may come. */
  unsent(): void;
  /** The handler has failed, or what was left of its answer was given up: no end will come. */
  fail(): void;
}

/** How much of a body is read, and how long. */
export interface BodyLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

/** `whole`: every byte was seen. `unknown`: somebody else has read the body, or its client is gone. */
export type BodyEnd = 'whole' | 'too-large' | 'late' | 'unknown';

/** Sees the body of one request, and the answer of its handler. */
export interface Recorder {
  /** The query of the request as it was sent, without `?`; empty if there is none. */
  readonly query: string;
  /** The host that the client named, with its port if it told one; empty if it named none. */
  readonly host: string;
  /** What a parser before the guard has made of the body; undefined if none has run. */
  parsedBody(): unknown;
  /**
   * Shows the body as it passes to the handler, and reads nothing by itself. A promise says that it was read before and
   * is being shown: the handler waits for that.
   */
  watchBody(watcher: BodyWatcher): void | Promise<void>;
  /** Reads the body of a request that no handler gets. Never rejects. */
  readBody(watcher: BodyWatcher, limits: BodyLimits): Promise<BodyEnd>;
  /** Shows the answer of the handler, before compression where that is possible. */
  watchResponse(watcher: ResponseWatcher): void;
}

/**
 * Makes the recorders of node:http and fetch. `idempotency()` brings them: a guard without it has no code that sees
 * bodies and answers.
 */
export interface Recorders {
  /**
   * @param target the request's target as it was sent
   * @param parsed what a parser has made of the body, wherever the framework keeps it
   */
  node(req: object, res: object, target: string, parsed: () => unknown): Recorder;
  /** @param show told how to have the answer seen, once the handler has made it */
  fetch(request: object, show: (answer: ShownResponse) => void): Recorder;
}

/** How the answer of a fetch handler is seen. */
export interface ShownResponse {
  /** The response to send in place of `response`. With `kept`, of one without a body: not before that settles. */
  see<Res>(
    response: Res,
    sendsBody: boolean,
  ): { readonly response: Res; readonly kept: Promise<void> | undefined };
  /** The handler gave none. */
  fail(): void;
}
