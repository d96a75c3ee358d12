/** A guard that tells how requests ended. */

import {
  type RequestOutcome,
  type ResponseEnd,
  rateLimit,
  type SpillwayHandler,
  spillway,
} from '@spillway/hono';

/** A guard that notes how each request ended, and gives nothing back. */
export function noting(): { outcomes: ResponseEnd[]; guard: SpillwayHandler } {
  const outcomes: ResponseEnd[] = [];
  const refundIf = (_request: unknown, { durationMs: _, ...end }: RequestOutcome): boolean => {
    outcomes.push(end);
    return false;
  };
  const limiter = rateLimit({ limit: 100, window: '1h', key: 'all', refundIf });
  return { outcomes, guard: spillway(limiter) };
}
