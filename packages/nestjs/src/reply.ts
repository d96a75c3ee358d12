/** What an admission does to a response of either platform. */

import type { Admission } from '@spillway/core';
import { mergeFields } from '@spillway/core/adapter';
import { endRefused, writeHead } from '@spillway/core/node';
import { isFastify, type PlatformResponse } from './exchange.js';

/** Sends the refusal. */
export function answer(admission: Admission, response: PlatformResponse): void {
  if (!isFastify(response)) {
    writeHead(admission, response);
    endRefused(admission, response);
    return;
  }
  if (response.sent) return;
  if (response.raw.headersSent) {
    response.raw.end();
    return;
  }
  for (const [name, value] of mergeFields(admission.fields, (field) => response.getHeader(field))) {
    response.header(name, value);
  }
  response.code(admission.status);
  // Through Fastify, so that its hooks see it (CORS); as bytes, because to a text it would add a charset.
  response.send(new TextEncoder().encode(admission.body));
}

/**
 * Sets the fields that tell of limits, and no others: what is sent, and of which type, is for someone else to say. On a
 * response
 * that several calls share (`own` is false) the fields of the last one stay.
 */
export function tell({ fields }: Admission, response: PlatformResponse, own: boolean): void {
  const fastify = isFastify(response); // looked for once, see there
  if (fastify ? response.sent || response.raw.headersSent : response.headersSent) return;
  const existing = own ? (name: string) => response.getHeader(name) : fieldsBefore(response);
  for (const [name, value] of mergeFields(fields, existing)) {
    if (name === 'Content-Type') continue;
    if (fastify) response.header(name, value);
    else response.setHeader(name, value);
  }
}

const BEFORE = Symbol('spillway.fields-before');

/** The fields as they were before the first call wrote its own. */
function fieldsBefore(response: PlatformResponse): (name: string) => unknown {
  const holder = response as PlatformResponse & { [BEFORE]?: Map<string, unknown> };
  holder[BEFORE] ??= new Map();
  const before = holder[BEFORE];
  return (name) => {
    if (!before.has(name)) before.set(name, response.getHeader(name));
    return before.get(name);
  };
}
