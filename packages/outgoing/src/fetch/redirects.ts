/**
 * Redirects, followed as the Fetch standard says ("HTTP-redirect fetch"), but call by call: each hop is a call to some
 * host, which must take its turn there. Otherwise one host could aim our calls at another, beside the pace of that.
 */

import type { WebResponse } from '@spillway/core/fetch';
import { type Call, callOf } from './call.js';
import { hostClasses } from './host.js';

/** As many as `fetch` follows. */
const MOST_HOPS = 20;

const REDIRECTS: ReadonlySet<unknown> = new Set([301, 302, 303, 307, 308]);

/** What describes a body, and goes with it. */
const OF_BODY = [
  'content-encoding',
  'content-language',
  'content-length',
  'content-location',
  'content-type',
];

/** What is meant for one origin. */
const OF_ORIGIN = ['authorization', 'cookie', 'host', 'proxy-authorization'];

declare const URL: new (
  url: string,
  base?: string,
) => { hash: string; readonly href: string; readonly origin: string; readonly protocol: string };
declare const TextDecoder: new () => { decode(bytes: Uint8Array): string };

/**
 * The call that an answer redirects to; undefined if the answer is the result.
 *
 * @param hops how many redirects were followed before
 * @throws TypeError where `fetch` would reject
 */
export function redirected(call: Call, response: WebResponse, hops: number): Call | undefined {
  if (!call.follows) return undefined;
  const { method, url } = call.request;
  const { status, headers } = response;
  if ((response as { readonly type?: unknown }).type === 'opaqueredirect') {
    // A runtime that shows no redirects. What may be done twice is left to its own `fetch`.
    if (method === 'GET' || method === 'HEAD') return { ...call, follows: false };
    throw new TypeError(
      `a redirect of a ${method} cannot be followed: this fetch does not show it`,
    );
  }
  const location: unknown = REDIRECTS.has(status) ? headers.get('location') : null;
  if (typeof location !== 'string') return undefined;
  const from = new URL(url);
  const to = new URL(textOf(location), url);
  if (to.protocol !== 'http:' && to.protocol !== 'https:') {
    throw new TypeError(`a redirect to ${to.protocol} is not followed`);
  }
  if (hops === MOST_HOPS) throw new TypeError(`${MOST_HOPS} redirects were followed already`);
  if (to.hash === '') to.hash = from.hash;
  const isPost = method === 'POST' && (status === 301 || status === 302);
  const dropsBody = isPost || (status === 303 && method !== 'GET' && method !== 'HEAD');
  if (call.isOnce && status !== 303 && !dropsBody) {
    throw new TypeError('a redirect needs the body once more, which was a stream');
  }
  const dropped = [...(dropsBody ? OF_BODY : []), ...(to.origin === from.origin ? [] : OF_ORIGIN)];
  const init = {
    ...ofRequest(call.input),
    ...call.init,
    method: dropsBody ? 'GET' : method,
    headers: without(call.init?.headers ?? call.request.headers, dropped),
    ...(dropsBody && { body: undefined }),
    signal: call.signal,
  };
  return callOf(to.href, init);
}

/** The result of a call that was redirected says so, and as by `fetch` its `url` is where it came from. */
export function markRedirected(response: WebResponse): void {
  try {
    Object.defineProperty(response, 'redirected', { value: true, configurable: true });
  } catch {
    // A `fetch` of yours may answer with what cannot be changed.
  }
}

/** What a `Request` that was passed as input says besides what {@link Call} has. */
function ofRequest(input: unknown): object {
  if (typeof input !== 'object' || input === null) return {};
  const given = input as Record<string, unknown>;
  const names = ['cache', 'credentials', 'keepalive', 'referrerPolicy'];
  return Object.fromEntries(
    names.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])),
  );
}

function without(given: unknown, names: readonly string[]): object {
  const headers = new (hostClasses().Headers)(given as object);
  for (const name of names) headers.delete(name);
  return headers;
}

/** Fields are bytes, which runtimes show as Latin-1; an address that was not encoded is UTF-8. */
function textOf(location: string): string {
  if (!/[\x80-\xff]/.test(location) || /[^\0-\xff]/.test(location)) return location;
  return new TextDecoder().decode(Uint8Array.from(location, (byte) => byte.charCodeAt(0)));
}
