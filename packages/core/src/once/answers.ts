/** Which answers are kept, and what of them. */

import type { Field } from '../contract/request.js';

/** The fields that describe the body, or lead to what was made. Others are of one response only, or of one client. */
const FIELDS = [
  'Content-Type',
  'Content-Encoding',
  'Content-Disposition',
  'Content-Language',
  'Content-Range',
  'Cache-Control',
  'Vary',
  'Location',
  'ETag',
  'Link',
] as const;

/** What must not be given to anybody again, whoever asks for it. */
const NEVER =
  /^(set-cookie|date|retry-after|(x-)?ratelimit.*|connection|keep-alive|transfer-encoding|content-length|te|trailer|upgrade|proxy-.*|idempotency-replayed)$/i;

/** A later try may be answered otherwise: nothing was done. */
export const FREE_ON: readonly number[] = [408, 425, 429, 503];

/** Whether it can be the name of a field, or a method: a token of RFC 9110. */
export function isToken(name: unknown): name is string {
  return typeof name === 'string' && /^[!#$%&'*+.^_`|~\w-]+$/.test(name);
}

/** Whether a field of this name can be kept. */
export function isKeepable(name: unknown): name is string {
  return isToken(name) && !NEVER.test(name);
}

/** The fields of an answer that are kept; `own`: those that the app adds. */
export function keptFields(
  field: (name: string) => string | undefined,
  own: readonly string[],
): readonly Field[] {
  const kept: Field[] = [];
  for (const name of new Set([...FIELDS, ...own])) {
    const value = field(name);
    if (value !== undefined) kept.push([name, value]);
  }
  return kept;
}
