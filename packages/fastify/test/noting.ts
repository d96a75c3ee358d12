/** A limiter that records how requests ended. */

import { type RequestOutcome, type ResponseEnd, rateLimit } from '@spillway/fastify';

/** A limiter that records how each request ended, except how long it took, and refunds nothing. */
export function noting(): { outcomes: ResponseEnd[]; limiters: ReturnType<typeof rateLimit> } {
  const outcomes: ResponseEnd[] = [];
  const refundIf = (_request: unknown, { durationMs: _, ...end }: RequestOutcome): boolean => {
    outcomes.push(end);
    return false;
  };
  return { outcomes, limiters: rateLimit({ limit: 100, window: '1h', refundIf }) };
}
