import type { WebRequest, WebResponse, WebSignal } from '@spillway/core/fetch';
import type { ScheduleOptions } from '../shaper/contract.js';

/** The type of the global `fetch`, or a similar type if the user's TypeScript libraries don't declare it. */
export type HostFetch = typeof globalThis extends {
  fetch: (...args: infer Args) => Promise<infer Res>;
}
  ? (...args: Args) => Promise<Res>
  : (input: unknown, init?: WebInit) => Promise<WebResponse>;

/** The priority and cost of a call. If the shaper has several paces, `Pace` is a union of their names. */
export type CallPace<Pace extends string = never> = Omit<ScheduleOptions<Pace>, 'signal'>;

/** `fetch` with an additional property `pace` in `init`. */
export type PacedFetch<Pace extends string = never> = HostFetch extends (
  input: infer Input,
  init?: infer Init,
) => infer Result
  ? (input: Input, init?: Init & { readonly pace?: CallPace<Pace> | undefined }) => Result
  : never;

/** The type of the global `Request` if the user's TypeScript libraries declare it, else {@link WebRequest}. */
export type HostRequest = typeof globalThis extends { Request: { prototype: infer Own } }
  ? Own
  : WebRequest;

export interface WebInit {
  readonly method?: string | undefined;
  readonly headers?: unknown;
  readonly body?: unknown;
  readonly signal?: WebSignal | null | undefined;
  readonly redirect?: 'error' | 'follow' | 'manual' | undefined;
  readonly integrity?: string | undefined;
  /**
   * The priority and cost of the call. The name is not `priority`, because `RequestInit` has a `priority` with another
   * meaning.
   */
  readonly pace?: CallPace<string> | undefined;
}

interface HostClasses {
  readonly fetch: HostFetch;
  readonly Request: new (input: unknown, init?: WebInit) => HostRequest;
  readonly Headers: new (headers: object) => { delete(name: string): void };
  readonly URLSearchParams: new (params: object) => object;
  readonly FormData: new () => Iterable<readonly [string, unknown]> & {
    append(name: string, value: unknown): void;
  };
  readonly AbortSignal: {
    any(signals: readonly WebSignal[]): WebSignal;
    timeout(ms: number): WebSignal;
  };
}

/** Returns the current classes of the host. Call it at each use, because frameworks and tests replace these globals. */
export function hostClasses(): HostClasses {
  return globalThis as unknown as HostClasses;
}

export interface Call {
  readonly input: unknown;
  readonly init: WebInit | undefined;
  readonly request: HostRequest;
  /** The host and, unless it is the default, the port; `''` for an address without a host, such as `data:`. */
  readonly host: string;
  readonly signal: WebSignal | undefined;
  readonly pace: CallPace<string> | undefined;
  readonly isBodyOneShot: boolean;
  /** Whether `pacedFetch`, not the runtime, follows redirects. */
  readonly followsRedirects: boolean;
}

interface RequestLike extends WebInit {
  readonly url?: unknown;
}

declare const URL: new (url: string) => { readonly host: string };

/**
 * Reads and copies the arguments of `fetch`. As with `fetch`, the caller may change them afterwards, even while the
 * call waits for its slot.
 *
 * @throws TypeError if `fetch` would throw one for this address, method or headers
 */
export function readCall(input: unknown, withPace: WebInit | undefined): Call {
  const { Request } = hostClasses();
  // The options may be a Request, which has no own properties that could be copied.
  if (isRequest(withPace)) {
    return readCall(new Request(isRequest(input) ? input : String(input), withPace), undefined);
  }
  const { pace, ...options } = withPace ?? {};
  const given: RequestLike = isRequest(input) ? input : {};
  const init = withPace && copyInit(options);
  const method = init?.method ?? given.method;
  const headers = init?.headers ?? given.headers;
  const request = new Request(String(given.url ?? input), {
    ...(method !== undefined && { method }),
    ...(headers !== undefined && { headers }),
  });
  const signal = init?.signal === undefined ? given.signal : init.signal;
  return {
    input: isRequest(input) ? copyRequest(input) : String(input),
    init,
    request,
    host: new URL(request.url).host,
    signal: signal ?? undefined,
    pace,
    // The body of a Request is always a stream, even if it was made from a string.
    isBodyOneShot: init?.body == null ? given.body != null : isStream(init.body),
    followsRedirects: mayFollow({
      redirect: given.redirect,
      integrity: given.integrity,
      ...init,
    }),
  };
}

/**
 * Whether this code may follow redirects in place of `fetch`. In browsers it may not, because they hide the target of a
 * redirect. With `integrity` it may not either, because only the runtime knows which response to check.
 */
function mayFollow({ redirect = 'follow', integrity = '' }: WebInit): boolean {
  const isBrowser = 'document' in globalThis || 'importScripts' in globalThis;
  return redirect === 'follow' && integrity === '' && !isBrowser;
}

function isRequest(input: unknown): input is RequestLike {
  return typeof input === 'object' && input !== null && 'url' in input;
}

function isStream(body: unknown): boolean {
  return (
    typeof body === 'object' &&
    body !== null &&
    (Symbol.asyncIterator in body ||
      typeof (body as { getReader?: unknown }).getReader === 'function')
  );
}

function copyInit(init: WebInit): WebInit {
  const { headers, body } = init;
  return {
    ...init,
    ...(headers != null && { headers: copyHeaders(headers) }),
    ...(body != null && { body: copyBody(body) }),
  };
}

/** Copies a request. Like `fetch`, this consumes the body of the original. */
function copyRequest(request: object): object {
  const { Request } = hostClasses();
  // A Request of another library works only with the `fetch` of that library.
  return request instanceof Request ? new Request(request) : request;
}

function copyHeaders(headers: unknown): unknown {
  const { Headers } = hostClasses();
  if (headers instanceof Headers) return new Headers(headers);
  if (typeof headers !== 'object' || headers === null) return headers;
  if (!(Symbol.iterator in headers)) return { ...headers };
  return Array.from(headers as Iterable<Iterable<string>>, (pair) => Array.from(pair));
}

function copyBody(body: unknown): unknown {
  if (body instanceof ArrayBuffer) return body.slice(0);
  if (ArrayBuffer.isView(body)) {
    return new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice();
  }
  const { URLSearchParams, FormData } = hostClasses();
  if (body instanceof URLSearchParams) return new URLSearchParams(body);
  return body instanceof FormData ? copyForm(body) : body;
}

function copyForm(form: Iterable<readonly [string, unknown]>): object {
  const copy = new (hostClasses().FormData)();
  for (const [name, value] of form) copy.append(name, value);
  return copy;
}
