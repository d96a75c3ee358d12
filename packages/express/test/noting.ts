/** A guard that tells how requests ended. */

import { type RequestOutcome, rateLimit, spillway } from '@spillway/express';
import type { RequestHandler } from 'express';

/** A guard that notes how each request ended, and gives nothing back. */
export function noting(): { outcomes: RequestOutcome[]; guard: RequestHandler } {
  const outcomes: RequestOutcome[] = [];
  const refundIf = (outcome: RequestOutcome): boolean => {
    outcomes.push(outcome);
    return false;
  };
  return { outcomes, guard: spillway(rateLimit({ limit: 100, window: '1h', refundIf })) };
}
