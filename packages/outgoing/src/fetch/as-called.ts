/**
 * The arguments of `fetch` as they are when it is called. `fetch` reads them at once, and so callers may change them
 * for their next call, while this one still waits for its slot.
 */

import { hostClasses, type WebInit } from './host.js';

/** Options with fields and a body that nobody else can change. A body that can be read only once stays what it is. */
export function initNow(init: WebInit | undefined): WebInit | undefined {
  if (!init) return init;
  const { headers, body } = init;
  return {
    ...init,
    ...(headers != null && { headers: headersNow(headers) }),
    ...(body != null && { body: bodyNow(body) }),
  };
}

/** Its own address, fields and body; a body is then used up, as `fetch` uses it up. */
export function requestNow(request: object): object {
  const { Request } = hostClasses();
  // One of another library is only for the `fetch` of that library.
  return request instanceof Request ? new Request(request) : request;
}

function headersNow(headers: unknown): unknown {
  const { Headers } = hostClasses();
  if (headers instanceof Headers) return new Headers(headers);
  if (typeof headers !== 'object' || headers === null) return headers;
  if (!(Symbol.iterator in headers)) return { ...headers };
  return Array.from(headers as Iterable<Iterable<string>>, (pair) => Array.from(pair));
}

function bodyNow(body: unknown): unknown {
  if (body instanceof ArrayBuffer) return body.slice(0);
  if (ArrayBuffer.isView(body)) {
    return new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice();
  }
  const { URLSearchParams, FormData } = hostClasses();
  if (body instanceof URLSearchParams) return new URLSearchParams(body);
  return body instanceof FormData ? formNow(body) : body;
}

function formNow(form: Iterable<readonly [string, unknown]>): object {
  const copy = new (hostClasses().FormData)();
  for (const [name, value] of form) copy.append(name, value);
  return copy;
}
