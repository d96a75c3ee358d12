import type { Header } from './request.js';

/** A stored response, as it is replayed. */
export interface StoredResponse {
  readonly status: number;
  readonly headers: readonly Header[];
  readonly body: Uint8Array;
}

/** Sees the bytes of a request's body. */
export interface BodyWatcher {
  /** Receives the next bytes as the client sent them. The buffer may be reused after the call. */
  chunk(bytes: Uint8Array): void;
  /** Called when all bytes were seen. Not called if the body isn't read to its end or if some bytes can't be seen. */
  end(): void;
  /** The client left, or reading failed, before the whole body arrived. On HTTP/2, perhaps after `end`. */
  cut(): void;
}

/** Sees the response of a handler. */
export interface ResponseWatcher {
  /**
   * Called with the status and headers set by the handler, before `chunk` and `end`. If sending the response throws
   * before its head was sent, this is called again for the next response.
   *
   * @param field returns the value of a header, or undefined if it is missing
   */
  head(status: number, field: (name: string) => string | undefined): void;
  /** The buffer may be reused after the call. Returns whether the watcher needs further bytes. */
  chunk(bytes: Uint8Array): boolean;
  /**
   * Called when the handler has ended the response and all bytes were seen. If this returns a promise, the response
   * must not end before the promise settles. It never rejects.
   */
  end(): Promise<void> | undefined;
  /** Called after `end` if the response could not be sent. Another response may follow. */
  unsent(): void;
  /**
   * Called if the handler returned no response (only for fetch), or if not all of the response's body can be seen.
   * `end` is then not called.
   */
  fail(): void;
}

/** Limits on reading a body. */
export interface BodyLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

/**
 * How reading a body ended. `whole`: all bytes were seen. `too-large`: it had more bytes than allowed. `late`: it took
 * too long. `unknown`: other code had read it before, or the client has gone.
 */
export type BodyEnd = 'whole' | 'too-large' | 'late' | 'unknown';

/** Sees the body of one request and the response of its handler. */
export interface Recorder {
  /** The query of the request as the client sent it, without `?`; empty if the request has none. */
  readonly query: string;
  /** The host that the client sent, with the port if given; empty if the client sent no host. */
  readonly host: string;
  /** The body as parsed by a body parser before the guard; undefined if no parser has run. */
  parsedBody(): unknown;
  /**
   * Passes the body to the watcher while the handler reads it. If other code has read the body before, this may return
   * a promise that settles when the watcher has seen all bytes. The handler must wait for that promise.
   */
  watchBody(watcher: BodyWatcher): void | Promise<void>;
  /** Reads the body of a request for which no handler runs. Never rejects. */
  readBody(watcher: BodyWatcher, limits: BodyLimits): Promise<BodyEnd>;
  /** Passes the response of the handler to the watcher, before compression if possible. */
  watchResponse(watcher: ResponseWatcher): void;
}

/** The part of Fastify's reply that a recorder uses. */
export interface Sender {
  getHeader(name: string): unknown;
  send(payload?: unknown): unknown;
}

/** Makes recorders. Only `idempotency()` implements this, so other bundles don't contain their code. */
export interface Recorders {
  /**
   * @param target the request's target as the client sent it
   * @param parsed returns the parsed body, wherever the framework stores it
   * @param sender the framework's response, if its `send` takes streams and responses of fetch
   */
  node(req: object, res: object, target: string, parsed: () => unknown, sender?: Sender): Recorder;
  /** @param show receives an object that wraps the response of the handler */
  fetch(request: object, show: (answer: ShownResponse) => void): Recorder;
}

/** Wraps the response of a fetch handler to record it. */
export interface ShownResponse {
  /** The response to send instead. If the result has `kept`, send it only after that promise settles. */
  see<Res>(
    response: Res,
    sendsBody: boolean,
  ): { readonly response: Res; readonly kept: Promise<void> | undefined };
  /** Called if the handler returned no response. */
  fail(): void;
}
