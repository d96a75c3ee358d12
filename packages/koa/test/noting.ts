/** A guard that tells how requests ended. */

import { type RequestOutcome, rateLimit, type SpillwayMiddleware, spillway } from '@spillway/koa';

/** A guard that notes how each request ended, and gives nothing back. */
export function noting(): { outcomes: RequestOutcome[]; guard: SpillwayMiddleware } {
  const outcomes: RequestOutcome[] = [];
  const refundIf = (outcome: RequestOutcome): boolean => {
    outcomes.push(outcome);
    return false;
  };
  return { outcomes, guard: spillway(rateLimit({ limit: 100, window: '1h', refundIf })) };
}
