/**
 * What is needed of the web's own classes: described, for neither browsers' nor any runtime's types are at hand here.
 */

export interface WebHeaders {
  get(name: string): string | null;
  set(name: string, value: string): void;
}

/** What is used of an `AbortSignal`. */
export interface WebSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** What is needed of `Request`. */
export interface WebRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Pick<WebHeaders, 'get'>;
  readonly signal?: WebSignal | null;
}

/** What is needed of `Response`; its body is a `ReadableStream`. */
export interface WebResponse {
  readonly status: number;
  readonly headers: WebHeaders;
  readonly body: object | null;
}

/** The `Response` of whoever compiles against this, if that has one. */
export type HostResponse = typeof globalThis extends { Response: { prototype: infer Own } }
  ? Own
  : WebResponse;

export interface WebReader {
  read(): Promise<{ readonly done: boolean; readonly value?: unknown }>;
  cancel(reason: unknown): Promise<void>;
}

export interface WebController {
  enqueue(chunk: unknown): void;
  close(): void;
  error(reason: unknown): void;
}

export interface WebSource {
  pull(controller: WebController): Promise<void>;
  cancel(reason: unknown): Promise<void>;
}

interface WebClasses {
  readonly Response: new (
    body: object | string | null,
    init: WebResponse | { readonly status: number; readonly headers?: Record<string, string> },
  ) => WebResponse;
  readonly ReadableStream: new (
    source: WebSource,
    strategy: { readonly highWaterMark: number },
  ) => object;
}

/** The classes of the runtime; looked up when they are used, for frameworks put their own in place. */
export function webClasses(): WebClasses {
  return globalThis as unknown as WebClasses;
}
