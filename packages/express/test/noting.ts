/** A guard that tells how requests ended. */

import { type RequestOutcome, type ResponseEnd, rateLimit, spillway } from '@spillway/express';
import type { RequestHandler } from 'express';

/** A guard that notes how each request ended, and gives nothing back. */
export function noting(): { outcomes: ResponseEnd[]; guard: RequestHandler } {
  const outcomes: ResponseEnd[] = [];
  const refundIf = (_request: unknown, { durationMs: _, ...end }: RequestOutcome): boolean => {
    outcomes.push(end);
    return false;
  };
  return { outcomes, guard: spillway(rateLimit({ limit: 100, window: '1h', refundIf })) };
}
