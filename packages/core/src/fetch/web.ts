/** The parts of the web's classes that we use, declared here because core compiles without DOM or runtime types. */

export interface WebHeaders {
  get(name: string): string | null;
  set(name: string, value: string): void;
}

/** The part of `AbortSignal` that we use. */
export interface WebSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** The part of `Request` that we use. */
export interface WebRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Pick<WebHeaders, 'get'>;
  readonly signal?: WebSignal | null;
}

/** The part of `Response` that we use; its body is a `ReadableStream`. */
export interface WebResponse {
  readonly status: number;
  readonly headers: WebHeaders;
  readonly body: object | null;
}

/** The global type `Response` of the compiling project, if it has one. */
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

/** The classes of the runtime. Looked up at each use, because frameworks replace them. */
export function webClasses(): WebClasses {
  return globalThis as unknown as WebClasses;
}
