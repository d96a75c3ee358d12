/** A guard that tells how requests ended. */

import {
  type RequestOutcome,
  type ResponseEnd,
  rateLimit,
  type SpillwayMiddleware,
  spillway,
} from '@spillway/koa';

/** A guard that notes how each request ended, and gives nothing back. */
export function noting(): { outcomes: ResponseEnd[]; guard: SpillwayMiddleware } {
  const outcomes: ResponseEnd[] = [];
  const refundIf = (_request: unknown, { durationMs: _, ...end }: RequestOutcome): boolean => {
    outcomes.push(end);
    return false;
  };
  return { outcomes, guard: spillway(rateLimit({ limit: 100, window: '1h', refundIf })) };
}
