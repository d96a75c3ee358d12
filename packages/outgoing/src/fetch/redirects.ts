/**
 * Follows redirects as the Fetch standard does ("HTTP-redirect fetch"), but each hop is a call that waits for a slot of
 * its target host. Otherwise redirects from one host could exceed the pace of another host.
 */

import type { WebResponse } from '@spillway/core/fetch';
import { type Call, hostClasses, readCall } from './call.js';

const MAX_REDIRECTS = 20;

const REDIRECT_STATUSES: ReadonlySet<unknown> = new Set([301, 302, 303, 307, 308]);

const BODY_HEADERS = [
  'content-encoding',
  'content-language',
  'content-length',
  'content-location',
  'content-type',
];

/** Headers that must not be sent to another origin. */
const ORIGIN_HEADERS = ['authorization', 'cookie', 'host', 'proxy-authorization'];

/** Properties of a `Request` that must be copied to the next hop, because {@link Call} does not have them. */
const REQUEST_PROPERTIES = ['cache', 'credentials', 'keepalive', 'referrerPolicy'];

declare const URL: new (
  url: string,
  base?: string,
) => { hash: string; readonly href: string; readonly origin: string; readonly protocol: string };
declare const TextDecoder: new () => { decode(bytes: Uint8Array): string };

/**
 * The call that a response redirects to; undefined if the response is not a redirect to follow.
 *
 * @param count how many redirects were followed before
 * @throws TypeError for redirects that make `fetch` reject
 */
export function redirectedCall(call: Call, response: WebResponse, count: number): Call | undefined {
  if (!call.followsRedirects) return undefined;
  const { method, url } = call.request;
  const { status, headers } = response;
  if ((response as { readonly type?: unknown }).type === 'opaqueredirect') {
    // This runtime hides the target of a redirect. So a GET or HEAD is sent again, and `fetch` follows its redirects.
    if (method === 'GET' || method === 'HEAD') return { ...call, followsRedirects: false };
    throw new TypeError(
      `a redirect of a ${method} cannot be followed: this fetch does not show it`,
    );
  }
  const location: unknown = REDIRECT_STATUSES.has(status) ? headers.get('location') : null;
  if (typeof location !== 'string') return undefined;
  const from = new URL(url);
  const to = new URL(decodeLocation(location), url);
  if (to.protocol !== 'http:' && to.protocol !== 'https:') {
    throw new TypeError(`a redirect to ${to.protocol} is not followed`);
  }
  if (count === MAX_REDIRECTS) {
    throw new TypeError(`${MAX_REDIRECTS} redirects were followed already`);
  }
  if (to.hash === '') to.hash = from.hash;
  const isPost = method === 'POST' && (status === 301 || status === 302);
  const dropsBody = isPost || (status === 303 && method !== 'GET' && method !== 'HEAD');
  if (call.isBodyOneShot && status !== 303 && !dropsBody) {
    throw new TypeError('a redirect needs the body once more, which was a stream');
  }
  const isSameOrigin = to.origin === from.origin;
  const dropped = [...(dropsBody ? BODY_HEADERS : []), ...(isSameOrigin ? [] : ORIGIN_HEADERS)];
  const init = {
    ...requestProperties(call.input),
    ...call.init,
    method: dropsBody ? 'GET' : method,
    headers: withoutHeaders(call.init?.headers ?? call.request.headers, dropped),
    ...(dropsBody && { body: undefined }),
    signal: call.signal,
    pace: call.pace,
  };
  return readCall(to.href, init);
}

export function markRedirected(response: WebResponse): void {
  try {
    Object.defineProperty(response, 'redirected', { value: true, configurable: true });
  } catch {
    // The response of a custom `fetch` may be frozen.
  }
}

function requestProperties(input: unknown): object {
  if (typeof input !== 'object' || input === null) return {};
  const given = input as Record<string, unknown>;
  const names = REQUEST_PROPERTIES.filter((name) => given[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, given[name]]));
}

function withoutHeaders(given: unknown, names: readonly string[]): object {
  const headers = new (hostClasses().Headers)(given as object);
  for (const name of names) headers.delete(name);
  return headers;
}

/** Decodes unescaped UTF-8 in an address, because runtimes read the bytes of headers as Latin-1. */
function decodeLocation(location: string): string {
  if (!/[\x80-\xff]/.test(location) || /[^\0-\xff]/.test(location)) return location;
  return new TextDecoder().decode(Uint8Array.from(location, (byte) => byte.charCodeAt(0)));
}
