/** The decision of a limiter that needs no store. */

import type { Decision } from '../decision.js';
import type { LocalLimiter, Mode, StepContext } from '../limit/limiter.js';
import type { LimitRequest } from '../limit/request.js';
import { skippedDecision } from './skipped.js';

/** What `limiter` says under `mode`; a limiter that throws lets the request pass, and is told as a fault. */
export function decideLocally<Raw>(
  limiter: LocalLimiter<Raw>,
  mode: Mode,
  request: LimitRequest<Raw>,
  context: StepContext,
): Decision {
  let decision: Decision;
  try {
    decision = limiter.decide(request, context);
  } catch (error) {
    context.fault({ limiter: limiter.name, source: 'decide', error });
    return skippedDecision(limiter.name);
  }
  if (decision.allowed || mode === 'enforce') return decision;
  return { ...decision, allowed: true, outcome: 'would-deny' };
}
