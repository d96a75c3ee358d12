import type { Answer } from '../contract/ask.js';
import type { LimiterSettings } from '../contract/control.js';
import type { Decision, Mode } from '../contract/decision.js';
import type { Settled } from '../contract/keeping.js';
import type { Limiter } from '../contract/limiter.js';
import type { LimiterTurn } from '../contract/limiter-turn.js';
import type { LimitRequest } from '../contract/request.js';
import type { Step } from '../contract/store.js';

export interface DecidedTurn<Raw> extends LimiterTurn<Raw> {
  readonly limiter: Limiter<Raw>;
  readonly settled: Settled | undefined;
}

/**
 * `declare` avoids initializing the properties twice. This matters, because each request creates a turn for each
 * limiter.
 */
export class Turn<Raw> {
  declare readonly limiter: Limiter<Raw>;
  declare readonly request: LimitRequest<Raw>;
  declare mode: Mode;
  /** The live settings, read once so that they can't change during the decision. */
  declare readonly settings: LimiterSettings | undefined;
  /** Settles when the async callbacks have ended. Never rejects. Undefined without async callbacks. */
  declare asking: Promise<void> | undefined;
  declare step: Step | undefined;
  declare answer: Answer | undefined;
  declare decision: Decision | undefined;
  declare settled: Settled | undefined;

  constructor(
    limiter: Limiter<Raw>,
    request: LimitRequest<Raw>,
    mode: Mode,
    settings: LimiterSettings | undefined,
  ) {
    this.limiter = limiter;
    this.request = request;
    this.mode = mode;
    this.settings = settings;
    this.asking = undefined;
    this.step = undefined;
    this.answer = undefined;
    this.decision = undefined;
    this.settled = undefined;
  }

  skip(): void {
    this.mode = 'off';
    this.leaveOut();
  }

  leaveOut(): void {
    this.step = undefined;
    this.answer = undefined;
    this.decision = undefined;
  }
}

export function mayEnd<Raw>({ limiter, step }: DecidedTurn<Raw>): boolean {
  return limiter.finish !== undefined || step?.lease !== undefined || step?.claim !== undefined;
}

export function takesHold<Raw>({ step }: DecidedTurn<Raw>): boolean {
  return step?.lease !== undefined || step?.claim !== undefined;
}

export function needsEnd<Raw>(
  { limiter, answer, decision }: DecidedTurn<Raw>,
  rejected: boolean,
): boolean {
  if (limiter.finish === undefined) return false;
  if (limiter.kind === 'local') return decision.allowed && decision.outcome !== 'skipped';
  if (rejected || !answer?.allowed) return false;
  return !answer.failure || answer.fallbackReceipt !== undefined;
}
