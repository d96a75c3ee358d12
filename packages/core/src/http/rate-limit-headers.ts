/** The headers of decisions that are made without HTTP, for a server that sends them itself. */

import type { Decision } from '../contract/decision.js';
import type { Header } from '../contract/request.js';
import { type Decided, type HeaderStyle, ResponseWriter } from './response-writer.js';

/** Writes headers; what {@link rateLimitHeaders} returns. */
export type RateLimitHeaders = (
  decided: readonly Decided[],
  rejection: Decision | undefined,
) => readonly Header[];

/**
 * For the option `headers` of `createLimiters`: each decision then has the headers that a guard would send for it:
 * `RateLimit` and `RateLimit-Policy`, and `Retry-After` where it is a rejection. Limits in shadow are not shown.
 *
 * @param styles as the option `headers` of a guard. Default `['draft-11']`
 * @throws SpillwayError `SPW_OPTION_INVALID`
 * @example
 * ```ts run
 * import { createLimiters, rateLimitHeaders } from '@spillway/core';
 *
 * const limits = { tokens: { limit: 1_000, window: '1m' } } as const;
 * const usage = createLimiters(limits, { headers: rateLimitHeaders() });
 *
 * const { headers } = usage.consume({ tokens: 'acme' }, { cost: 400 });
 * Object.fromEntries(headers)['RateLimit']; // '"tokens";r=600;t=24'
 * ```
 */
export function rateLimitHeaders(styles?: readonly HeaderStyle[]): RateLimitHeaders {
  const writer = new ResponseWriter(styles);
  return (decided, rejection) => writer.limitFields(decided, rejection, writer.nowMs());
}
