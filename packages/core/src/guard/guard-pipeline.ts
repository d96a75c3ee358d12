/** Adds to the decision pipeline what HTTP needs: local and custom limiters, and a warning about unknown addresses. */

import { Junk } from '../base/junk.js';
import type { Answer } from '../contract/ask.js';
import type { ControlLink } from '../contract/control-link.js';
import { type Decision, type Mode, skippedDecision } from '../contract/decision.js';
import type { LocalLimiter } from '../contract/limiter.js';
import type { StepContext } from '../contract/limiter-turn.js';
import type { LimitRequest } from '../contract/request.js';
import type { Step } from '../contract/store.js';
import { type Decider, Pipeline } from '../engine/pipeline.js';
import { UNKNOWN_ADDRESS } from '../limits/callbacks.js';
import type { Notices } from '../observe/notices.js';
import type { Observers } from '../observe/observers.js';
import type { StoreClient } from '../stores/store-client.js';
import type { Turn } from './turn.js';

export class GuardPipeline<Raw> extends Pipeline<Turn<Raw>> {
  private readonly notices: Notices;

  constructor(
    client: StoreClient,
    control: ControlLink | undefined,
    observers: Observers,
    context: StepContext,
    notices: Notices,
  ) {
    super(client, control, observers, context);
    this.notices = notices;
  }

  protected override decideHere(turn: Turn<Raw>): void {
    const { limiter, mode, request } = turn;
    if (limiter.kind !== 'local') super.decideHere(turn);
    else turn.decision = decideLocally(limiter, mode, request, this.context);
  }

  protected override decideByCache(turn: Turn<Raw>, limiter: Decider, step: Step): void {
    if (step.key === UNKNOWN_ADDRESS) this.missAddress(turn);
    super.decideByCache(turn, limiter, step);
  }

  protected override decisionOf(
    limiter: Decider,
    mode: Mode,
    step: Step,
    answer: Answer,
  ): Decision {
    return decideStored(limiter, mode, step, answer, this.context);
  }

  private missAddress({ limiter: { name }, mode, request }: Turn<Raw>): void {
    if (request.missesAddress?.(mode === 'enforce')) return;
    this.notices.tell('SPW_ADDRESS_UNKNOWN', unknownAddress(name), name);
  }
}

function unknownAddress(limiter: string): string {
  return (
    `limiter "${limiter}" counts all callers without a known address as one: give it a key; ` +
    'behind a proxy on a Unix socket, set trustProxy to the number of proxies, such as 1'
  );
}

function decideStored(
  limiter: Decider,
  mode: Mode,
  step: Step,
  answer: Answer,
  context: StepContext,
): Decision {
  try {
    const decision = decided(limiter.name, limiter.decide(step, answer));
    // A custom limiter may copy the name from its step. Without a store, the step has another name than the limiter.
    return decision.limiter === limiter.name ? decision : { ...decision, limiter: limiter.name };
  } catch (error) {
    context.fault({ limiter: limiter.name, source: 'decide', error });
    return decisionOnStoreError(limiter, mode, context);
  }
}

export function decisionOnStoreError(
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

function decideLocally<Raw>(
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

function decided(limiter: string, own: Decision): Decision {
  if (typeof own?.allowed === 'boolean') return own;
  throw new Junk(`decide of limiter "${limiter}"`, own);
}
