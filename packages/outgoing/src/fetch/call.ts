/** One call that goes out: what is known of it before it is made, and whether it may be made again. */

import type { WebSignal } from '@spillway/core/fetch';
import { initNow, requestNow } from './as-called.js';
import { type HostRequest, hostClasses, type WebInit } from './host.js';

/** What `fetch` was called with, as it was then. */
export interface Call {
  readonly input: unknown;
  readonly init: WebInit | undefined;
  /** The method, address and fields, without the body, which only the call itself may read. */
  readonly request: HostRequest;
  /** Host and port, the port only where the address names one that is not usual; `''` for data that is read here. */
  readonly host: string;
  readonly signal: WebSignal | undefined;
  /** Whether the body can be sent only once. */
  readonly isOnce: boolean;
  /** Whether redirects are followed, each in a turn of its own. */
  readonly follows: boolean;
}

/** What is needed of a `Request` that was passed as input. */
interface Given extends WebInit {
  readonly url?: unknown;
}

declare const URL: new (url: string) => { readonly host: string };

/**
 * Reads the arguments of `fetch`.
 *
 * @throws TypeError where `fetch` would
 */
export function callOf(input: unknown, options: WebInit | undefined): Call {
  const { Request } = hostClasses();
  // A Request may stand in for the options, and has nothing of its own that could be copied.
  if (isRequest(options))
    return callOf(new Request(isRequest(input) ? input : String(input), options), undefined);
  const given: Given = isRequest(input) ? input : {};
  const init = initNow(options);
  const method = init?.method ?? given.method;
  const headers = init?.headers ?? given.headers;
  const request = new Request(String(given.url ?? input), {
    ...(method !== undefined && { method }),
    ...(headers !== undefined && { headers }),
  });
  const signal = init?.signal === undefined ? given.signal : init.signal;
  return {
    input: isRequest(input) ? requestNow(input) : String(input),
    init,
    request,
    host: new URL(request.url).host,
    signal: signal ?? undefined,
    // A Request's own body is a stream, whatever it was made of.
    isOnce: init?.body == null ? given.body != null : isStream(init.body),
    follows: isToFollow({ redirect: given.redirect, integrity: given.integrity, ...init }),
  };
}

/** Browsers do not show where a redirect leads; and only the runtime knows which answer is the one to be verified. */
function isToFollow({ redirect = 'follow', integrity = '' }: WebInit): boolean {
  const isBrowser = 'document' in globalThis || 'importScripts' in globalThis;
  return redirect === 'follow' && integrity === '' && !isBrowser;
}

function isRequest(input: unknown): input is Given {
  return typeof input === 'object' && input !== null && 'url' in input;
}

/** A web stream, or anything else that is read once; what Node calls a Readable among them. */
function isStream(body: unknown): boolean {
  return (
    typeof body === 'object' &&
    body !== null &&
    (Symbol.asyncIterator in body ||
      typeof (body as { getReader?: unknown }).getReader === 'function')
  );
}
