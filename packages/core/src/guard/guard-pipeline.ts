/** The pipeline of decisions for HTTP: adds local limiters, custom limiters and the warning about unknown addresses. */

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

  /** Throws only if an enforcing limiter needs the client address and the app never configured how to find it. */
  protected override decideHere(turn: Turn<Raw>): void {
    const { limiter, mode, request } = turn;
    if (limiter.kind !== 'local') super.decideHere(turn);
    else turn.decision = decideLocally(limiter, mode, request, this.context);
  }

  protected override decideByCache(turn: Turn<Raw>, limiter: Decider, step: Step): void {
    if (step.key === UNKNOWN_ADDRESS) this.missAddress(turn);
    super.decideByCache(turn, limiter, step);
  }

  /** A custom limiter may throw or return something that is not a decision. */
  protected override decisionOf(
    limiter: Decider,
    mode: Mode,
    step: Step,
    answer: Answer,
  ): Decision {
    return decideStored(limiter, mode, step, answer, this.context);
  }

  /** Warns about an unknown address, unless the adapter reports it (`missesAddress` returns true). */
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
