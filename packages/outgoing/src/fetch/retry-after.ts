/** How long an answer says to wait before the next call: `retry-after-ms`, else `Retry-After`. */

import type { Fields } from './answer-fields.js';
import { parseHttpDate } from './http-date.js';

/**
 * Milliseconds from the moment when the answer came; at least 0, and Infinity for more digits than a number holds.
 * Undefined where the answer does not say, or not in a form of RFC 9110: then the next field is read.
 */
export function retryAfterMs(fields: Fields, nowMs: number): number | undefined {
  return milliseconds(fields.get('retry-after-ms')) ?? retryAfter(fields, nowMs);
}

/** Not standard, but sent by those who limit for less than a second; decimals are sent, too. */
function milliseconds(text: string | null): number | undefined {
  return text !== null && /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}

function retryAfter(fields: Fields, nowMs: number): number | undefined {
  const text = fields.get('retry-after');
  if (text === null) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const instant = parseHttpDate(text, nowMs);
  return instant === undefined ? undefined : Math.max(0, instant - serverTimeMs(fields, nowMs));
}

/** What the other side takes for now. Its dates are by its clock, which may be minutes from ours. */
export function serverTimeMs(fields: Fields, nowMs: number): number {
  return parseHttpDate(fields.get('date') ?? '', nowMs) ?? nowMs;
}
