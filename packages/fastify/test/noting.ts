/** A limiter that tells how requests ended. */

import { type RequestOutcome, rateLimit } from '@spillway/fastify';

/** A limiter that notes how each request ended, save how long it took, and gives nothing back. */
export function noting(): { outcomes: RequestOutcome[]; limiters: ReturnType<typeof rateLimit> } {
  const outcomes: RequestOutcome[] = [];
  const refundIf = ({ status, aborted }: RequestOutcome): boolean => {
    outcomes.push({
      ...(status !== undefined && { status }),
      ...(aborted !== undefined && { aborted }),
    });
    return false;
  };
  return { outcomes, limiters: rateLimit({ limit: 100, window: '1h', refundIf }) };
}
