/** What a limiter decides; one that throws decides as if its store could not answer. */

import { Junk } from '../base/junk.js';
import type { Answer } from '../contract/ask.js';
import { type Decision, type Mode, skippedDecision } from '../contract/decision.js';
import type { LocalLimiter } from '../contract/limiter.js';
import type { StepContext } from '../contract/limiter-turn.js';
import type { LimitRequest } from '../contract/request.js';
import type { Step } from '../contract/store.js';
import type { Decider } from '../engine/pipeline.js';

/** What a stored limiter makes of an answer. */
export function decideStored(
  limiter: Decider,
  mode: Mode,
  step: Step,
  answer: Answer,
  context: StepContext,
): Decision {
  try {
    const decision = decided(limiter.name, limiter.decide(step, answer));
    // One of the user's own may take its name from the step, which need not have it.
    return decision.limiter === limiter.name ? decision : { ...decision, limiter: limiter.name };
  } catch (error) {
    context.fault({ limiter: limiter.name, source: 'decide', error });
    return brokenDecision(limiter, mode, context);
  }
}

/** What a limiter that is itself broken decides: as if its store could not answer. */
export function brokenDecision(
  limiter: Pick<Decider, 'name' | 'onStoreError'>,
  mode: Mode,
  context: StepContext,
): Decision {
  const denies = (limiter.onStoreError ?? context.onStoreError) === 'deny';
  return {
    ...skippedDecision(limiter.name),
    allowed: mode !== 'enforce' || !denies,
    outcome: 'error',
    reason: denies ? 'store-error' : null,
  };
}

/** What a limiter that needs no store says, as far as its mode goes. */
export function decideLocally<Raw>(
  limiter: LocalLimiter<Raw>,
  mode: Mode,
  request: LimitRequest<Raw>,
  context: StepContext,
): Decision {
  let decision: Decision;
  try {
    decision = decided(limiter.name, limiter.decide(request, context));
  } catch (error) {
    context.fault({ limiter: limiter.name, source: 'decide', error });
    return skippedDecision(limiter.name);
  }
  if (decision.allowed || mode === 'enforce') return decision;
  return { ...decision, allowed: true, outcome: 'would-deny' };
}

/** Throws what says what a limiter of somebody's own returned in place of a decision. */
function decided(limiter: string, own: Decision): Decision {
  if (typeof own?.allowed === 'boolean') return own;
  throw new Junk(`decide of limiter "${limiter}"`, own);
}
