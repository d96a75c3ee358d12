/** What the decisions of a guard have beside those without HTTP: local limiters, and addresses that nobody knows. */

import type { Answer } from '../contract/ask.js';
import type { ControlLink } from '../contract/control-link.js';
import type { Decision, Mode } from '../contract/decision.js';
import type { StepContext } from '../contract/limiter-turn.js';
import type { Step } from '../contract/store.js';
import { type Decider, Pipeline } from '../engine/pipeline.js';
import { UNKNOWN_ADDRESS } from '../limits/callbacks.js';
import type { Notices } from '../observe/notices.js';
import type { Observers } from '../observe/observers.js';
import type { StoreClient } from '../stores/store-client.js';
import { decideLocally, decideStored } from './deciding.js';
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

  /** Throws only what an adapter is to throw: that an address is needed, and nobody said how to find it. */
  protected override decideHere(turn: Turn<Raw>): void {
    const { limiter, mode, request } = turn;
    if (limiter.kind !== 'local') super.decideHere(turn);
    else turn.decision = decideLocally(limiter, mode, request, this.context);
  }

  protected override decideByCache(turn: Turn<Raw>, limiter: Decider, step: Step): void {
    if (step.key === UNKNOWN_ADDRESS) this.missAddress(turn);
    super.decideByCache(turn, limiter, step);
  }

  /** A custom limiter may throw, or return junk. */
  protected override decisionOf(
    limiter: Decider,
    mode: Mode,
    step: Step,
    answer: Answer,
  ): Decision {
    return decideStored(limiter, mode, step, answer, this.context);
  }

  /** An adapter may have to tell by itself: that nobody said how to find the address. */
  private missAddress({ limiter: { name }, mode, request }: Turn<Raw>): void {
    if (request.missesAddress?.(mode === 'enforce')) return;
    this.notices.tell('SPW_ADDRESS_UNKNOWN', unknownAddress(name), name);
  }
}

function unknownAddress(limiter: string): string {
  return (
    `limiter "${limiter}" counts as one all callers whose address is not known: give it a key; ` +
    'behind a proxy on a Unix socket, set trustProxy to the number of proxies, such as 1'
  );
}
