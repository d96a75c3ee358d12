/** A guard that tells how requests ended. */

import { type RequestOutcome, rateLimit, type SpillwayHandler, spillway } from '@spillway/hono';

/** A guard that notes how each request ended, and gives nothing back. */
export function noting(): { outcomes: RequestOutcome[]; guard: SpillwayHandler } {
  const outcomes: RequestOutcome[] = [];
  const refundIf = (outcome: RequestOutcome): boolean => {
    outcomes.push(outcome);
    return false;
  };
  const limiter = rateLimit({ limit: 100, window: '1h', key: 'all', refundIf });
  return { outcomes, guard: spillway(limiter) };
}
