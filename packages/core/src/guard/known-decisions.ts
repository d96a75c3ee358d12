/** What a guard decides without its store: by local limiters, rulings of operators and remembered refusals. */

import type { Control } from '../contract/control.js';
import type { StepContext, StoredLimiter } from '../contract/limiter.js';
import type { Step } from '../contract/store.js';
import { isInShare, refusedDecision, ruledDecision } from '../control/ruled-decision.js';
import { UNKNOWN_ADDRESS } from '../limits/callbacks.js';
import type { Notices } from '../observe/notices.js';
import type { StoreClient } from '../stores/store-client.js';
import { decideLocally, decideStored } from './deciding.js';
import type { Turn } from './turn.js';

export class KnownDecisions<Raw> {
  private readonly control: Control | undefined;
  private readonly client: StoreClient;
  private readonly context: StepContext;
  private readonly notices: Notices;

  constructor(
    control: Control | undefined,
    client: StoreClient,
    context: StepContext,
    notices: Notices,
  ) {
    this.notices = notices;
    this.control = control;
    this.client = client;
    this.context = context;
  }

  /** Decides `turn` if the store need not be asked; puts it in shadow if its key is not in the limiter's share yet. */
  decide(turn: Turn<Raw>): void {
    const { limiter, mode, request, step } = turn;
    if (mode === 'off' || turn.decision) return;
    if (limiter.kind === 'local') {
      turn.decision = decideLocally(limiter, mode, request, this.context);
    } else if (step) this.decideStored(turn, limiter, step);
  }

  /** Throws only what an adapter is to throw: that an address is needed, and nobody said how to find it. */
  private decideStored(turn: Turn<Raw>, limiter: StoredLimiter<Raw>, step: Step): void {
    const { name } = limiter;
    const ruling = this.control?.rulingOn(name, step.key);
    if (ruling) {
      turn.decision = ruledDecision(name, turn.mode, ruling);
      return;
    }
    if (turn.mode === 'enforce' && !isInShare(name, step.key, shareOf(turn, limiter))) {
      turn.mode = 'shadow';
      turn.step = { ...step, binding: false };
    }
    if (step.rule.limit === 0) turn.decision = refusedDecision(name, turn.mode, 'never', Infinity);
    else {
      if (step.key === UNKNOWN_ADDRESS) this.missAddress(turn);
      if (turn.mode === 'enforce') this.repeatRefusal(turn, limiter, step);
    }
  }

  /** An adapter may have to tell by itself: that nobody said how to find the address. */
  private missAddress({ limiter: { name }, mode, request }: Turn<Raw>): void {
    if (request.missesAddress?.(mode === 'enforce')) return;
    this.notices.tell('SPW_ADDRESS_UNKNOWN', () => unknownAddress(name), name);
  }

  private repeatRefusal(turn: Turn<Raw>, limiter: StoredLimiter<Raw>, step: Step): void {
    const known = this.client.known(step);
    if (!known) return;
    turn.answer = known;
    turn.decision = decideStored(limiter, turn.mode, step, known, this.context);
  }
}

function unknownAddress(limiter: string): string {
  return (
    `limiter "${limiter}" counts as one all callers whose address is not known: give it a key; ` +
    'behind a proxy on a Unix socket, set trustProxy to the number of proxies, such as 1'
  );
}

function shareOf<Raw>({ settings }: Turn<Raw>, { share = 1 }: StoredLimiter<Raw>): number {
  return settings?.share ?? share;
}
