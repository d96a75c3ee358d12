/** A limiter that tells how requests ended. */

import { type RequestOutcome, rateLimit } from '@spillway/fastify';

/** A limiter that notes how each request ended, and gives nothing back. */
export function noting(): { outcomes: RequestOutcome[]; limiters: ReturnType<typeof rateLimit> } {
  const outcomes: RequestOutcome[] = [];
  const refundIf = (outcome: RequestOutcome): boolean => {
    outcomes.push(outcome);
    return false;
  };
  return { outcomes, limiters: rateLimit({ limit: 100, window: '1h', refundIf }) };
}
