import type { Admission } from '../contract/admission.js';
import type { StoredResponse } from '../contract/recorder.js';
import type { Header } from '../contract/request.js';
import { mergeHeaders } from '../http/fields.js';
import {
  type HostResponse,
  type WebHeaders,
  type WebReader,
  type WebResponse,
  webClasses,
} from './web.js';

interface Cloneable extends WebResponse {
  clone(): WebResponse;
}

/**
 * Returns the response with the headers set: the same object, or a copy if its headers are immutable (a response of
 * `fetch()`) or it has no body. A handler may return a response without a body for many requests, and none of them may
 * see the headers of another. On Deno, always a copy: there, a response whose headers and `body` were both used loses
 * its `Content-Length`.
 */
export function withHeaders<Res extends WebResponse>(
  response: Res,
  fields: readonly Header[],
): Res {
  // If it is not a response, the runtime rejects it with its own message.
  if (fields.length === 0 || !response?.headers) return response;
  try {
    if (!('Deno' in globalThis) && hasBody(response)) {
      // Read only now, because @hono/node-server replaces the headers when `body` is read.
      setFields(response.headers, fields);
      return response;
    }
  } catch {
    // Its headers are immutable.
  }
  return copyWithFields(response, fields);
}

/** On Bun a text without a type keeps its type only while nothing reads its `body`, so that of a clone is read. */
function hasBody(response: WebResponse): boolean {
  const { headers } = response;
  if (!('Bun' in globalThis) || headers.get('Content-Type') !== null) return Boolean(response.body);
  const { body } = (response as Cloneable).clone();
  // If it is a stream, the clone would otherwise collect all that the stream sends.
  (body as Pick<WebReader, 'cancel'> | null)?.cancel(undefined).catch(() => undefined);
  return body !== null;
}

function copyWithFields<Res extends WebResponse>(response: Res, fields: readonly Header[]): Res {
  const { Response } = webClasses();
  try {
    const copy = new Response(response.body, response) as Res;
    setFields(copy.headers, fields);
    return copy;
  } catch {
    return response; // `Response.error()`, or its body was read: leave it to the runtime
  }
}

/** The headers of a rejection, including `Content-Length`, which a response to HEAD needs too. */
export function rejectionHeaders({ headers, body }: Admission): Record<string, string> {
  // The body is ASCII, so its length in characters is its length in bytes.
  const record: Record<string, string> = { 'Content-Length': String(body.length) };
  for (const [name, value] of headers) record[name] = value;
  return record;
}

export function rejectionResponse(admission: Admission, method: string): HostResponse {
  const { Response } = webClasses();
  const body = method === 'HEAD' ? null : admission.body;
  const init = { status: admission.status, headers: rejectionHeaders(admission) };
  return new Response(body, init) as HostResponse;
}

export function replayedResponse(answer: StoredResponse, method: string): HostResponse {
  const { Response } = webClasses();
  const { status } = answer;
  const isBodiless = status === 204 || status === 205 || status === 304;
  const headers: Record<string, string> = {};
  for (const [name, value] of answer.headers) headers[name] = value;
  // The length is set only for HEAD: otherwise the runtime computes it, because middleware before the guard may change
  // the body.
  if (!isBodiless && method === 'HEAD') headers['Content-Length'] = String(answer.body.length);
  // `null` and not an empty body, because servers would add a content type to an empty body.
  const isSent = !isBodiless && method !== 'HEAD' && answer.body.length > 0;
  const body = isSent ? answer.body : null;
  return new Response(body, { status, headers }) as HostResponse;
}

/** The response to a request whose client is gone. Nobody reads it. */
export function goneResponse(): HostResponse {
  const { Response } = webClasses();
  return new Response(null, { status: 499 }) as HostResponse;
}

/**
 * Adds a guard's headers to a response. Guards inside this one may have set the same headers before. In list headers,
 * the new values come first.
 */
function setFields(headers: WebHeaders, fields: readonly Header[]): void {
  const theirs: Header[] = [];
  for (const [name] of fields) {
    const value = headers.get(name);
    if (value) theirs.push([name, value]);
  }
  let merged: Iterable<Header> = fields;
  if (theirs.length > 0) {
    const own = new Map(fields);
    merged = new Map([...own, ...mergeHeaders(theirs, (name) => own.get(name))]);
  }
  for (const [name, value] of merged) headers.set(name, value);
}
