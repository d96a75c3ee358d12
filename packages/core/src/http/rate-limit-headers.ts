import type { Decision } from '../contract/decision.js';
import type { Header } from '../contract/request.js';
import { type Decided, type HeaderStyle, ResponseWriter } from './response-writer.js';

/** Writes the headers of decisions; returned by {@link rateLimitHeaders}. */
export type RateLimitHeaders = (
  decided: readonly Decided[],
  rejection: Decision | undefined,
) => readonly Header[];

/**
 * Makes the option `headers` of `createLimiters`. Each decision then contains the rate limit headers that a guard would
 * send, by default `RateLimit` and `RateLimit-Policy`. A rejection also has `Retry-After`, unless the request can never
 * pass. Limits in shadow mode are not shown.
 *
 * @param styles like the option `headers` of a guard. Default `['draft-11']`
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
