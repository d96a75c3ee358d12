/** Calls `decide` of limiters. If a stored limiter throws, its `onStoreError` decides; a local one is skipped. */

import { Junk } from '../base/junk.js';
import type { Answer } from '../contract/ask.js';
import { type Decision, type Mode, skippedDecision } from '../contract/decision.js';
import type { LocalLimiter } from '../contract/limiter.js';
import type { StepContext } from '../contract/limiter-turn.js';
import type { LimitRequest } from '../contract/request.js';
import type { Step } from '../contract/store.js';
import type { Decider } from '../engine/pipeline.js';

/** The decision of a stored limiter on an answer of the store. */
export function decideStored(
  limiter: Decider,
  mode: Mode,
  step: Step,
  answer: Answer,
  context: StepContext,
): Decision {
  try {
    const decision = decided(limiter.name, limiter.decide(step, answer));
    // A custom limiter may copy the step's name, which differs from its own in a guard without a store.
    return decision.limiter === limiter.name ? decision : { ...decision, limiter: limiter.name };
  } catch (error) {
    context.fault({ limiter: limiter.name, source: 'decide', error });
    return brokenDecision(limiter, mode, context);
  }
}

/** The decision in place of a limiter that failed: that of `onStoreError`. */
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

/** The decision of a limiter without a store. In shadow mode it never rejects. */
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

/** Throws if a custom limiter returned something that is not a decision. */
function decided(limiter: string, own: Decision): Decision {
  if (typeof own?.allowed === 'boolean') return own;
  throw new Junk(`decide of limiter "${limiter}"`, own);
}
