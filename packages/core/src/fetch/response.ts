/** What an admission does to a fetch response: fields added to it, or a whole one for a refused request. */

import type { Admission } from '../contract/admission.js';
import type { StoredResponse } from '../contract/recorder.js';
import type { Header } from '../contract/request.js';
import { mergeHeaders } from '../http/fields.js';
import { type HostResponse, type WebHeaders, type WebResponse, webClasses } from './web.js';

/** The response with the fields set: itself, or a copy where its headers cannot be changed (one that was fetched). */
export function withHeaders<Res extends WebResponse>(
  response: Res,
  fields: readonly Header[],
): Res {
  // What has no headers is no response: the runtime says so in its own words.
  if (fields.length === 0 || !response?.headers) return response;
  try {
    setFields(response.headers, fields);
    return response;
  } catch {
    return copyWithFields(response, fields);
  }
}

function copyWithFields<Res extends WebResponse>(response: Res, fields: readonly Header[]): Res {
  const { Response } = webClasses();
  try {
    const copy = new Response(response.body, response) as Res;
    setFields(copy.headers, fields);
    return copy;
  } catch {
    return response; // of an error, or read already: no business of ours
  }
}

/** The fields of a refusal, with the length of its body: for HEAD too, which is sent none. */
export function rejectionHeaders({ headers, body }: Admission): Record<string, string> {
  // Its own texts and names, which are ASCII: as many bytes as characters.
  const record: Record<string, string> = { 'Content-Length': String(body.length) };
  for (const [name, value] of headers) record[name] = value;
  return record;
}

/** The answer to a refused request. */
export function rejectionResponse(admission: Admission, method: string): HostResponse {
  const { Response } = webClasses();
  const body = method === 'HEAD' ? null : admission.body;
  const init = { status: admission.status, headers: rejectionHeaders(admission) };
  return new Response(body, init) as HostResponse;
}

/** An answer that was kept, given again. */
export function replayedResponse(answer: StoredResponse, method: string): HostResponse {
  const { Response } = webClasses();
  const { status } = answer;
  const isBodiless = status === 204 || status === 205 || status === 304;
  const headers: Record<string, string> = {};
  for (const [name, value] of answer.headers) headers[name] = value;
  // Where there is a body the runtime tells its length: middleware in front of the guard may change it.
  if (!isBodiless && method === 'HEAD') headers['Content-Length'] = String(answer.body.length);
  // None at all where it is empty: of an empty one, servers would guess a type.
  const isSent = !isBodiless && method !== 'HEAD' && answer.body.length > 0;
  const body = isSent ? answer.body : null;
  return new Response(body, { status, headers }) as HostResponse;
}

/** The answer that nobody reads, since the client is gone. */
export function goneResponse(): HostResponse {
  const { Response } = webClasses();
  return new Response(null, { status: 499 }) as HostResponse;
}

/** What the response has already is of guards behind this one: in lists they come after. */
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
