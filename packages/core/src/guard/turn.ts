/** One limiter's part in the decision on a request, while it is made. */

import type { Answer } from '../contract/ask.js';
import type { LimiterSettings } from '../contract/control.js';
import type { Decision, Mode } from '../contract/decision.js';
import type { Settled } from '../contract/keeping.js';
import type { Limiter } from '../contract/limiter.js';
import type { LimiterTurn } from '../contract/limiter-turn.js';
import type { LimitRequest } from '../contract/request.js';
import type { Step } from '../contract/store.js';

/** A turn once it is decided. */
export interface DecidedTurn<Raw> extends LimiterTurn<Raw> {
  readonly limiter: Limiter<Raw>;
  readonly settled: Settled | undefined;
}

/** Made for each limiter and request: `declare` keeps the compiler from setting each field twice. */
export class Turn<Raw> {
  declare readonly limiter: Limiter<Raw>;
  declare readonly request: LimitRequest<Raw>;
  declare mode: Mode;
  /** What is set live: read once, so that one decision follows from one state. */
  declare readonly settings: LimiterSettings | undefined;
  /** Settled when `step` is known, if callbacks answer later. Never rejects. */
  declare asking: Promise<void> | undefined;
  declare step: Step | undefined;
  declare answer: Answer | undefined;
  declare decision: Decision | undefined;
  /** What became of a claim that the store refused. */
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

  /** The app has said, later, that no limiter sees this request. */
  skip(): void {
    this.mode = 'off';
    this.leaveOut();
  }

  /** The limiter has nothing to ask: what the store has said is of no account. */
  leaveOut(): void {
    this.step = undefined;
    this.answer = undefined;
    this.decision = undefined;
  }
}

/** Whether the end of the request may concern the turn at all. */
export function mayEnd<Raw>({ limiter, step }: DecidedTurn<Raw>): boolean {
  return limiter.finish !== undefined || step?.lease !== undefined || step?.claim !== undefined;
}

/** Whether the step takes what is held until the request ends, and renewed: a permit or a claim. */
export function takesHold<Raw>({ step }: DecidedTurn<Raw>): boolean {
  return step?.lease !== undefined || step?.claim !== undefined;
}

/** Whether the limiter is to be told of the end of a request that was `refused` by the guard, or was not. */
export function hearsEnd<Raw>(
  { limiter, answer, decision }: DecidedTurn<Raw>,
  refused: boolean,
): boolean {
  if (limiter.finish === undefined) return false;
  if (limiter.kind === 'local') return decision.allowed && decision.outcome !== 'skipped';
  if (refused || !answer?.allowed) return false;
  return !answer.failure || answer.standIn !== undefined;
}
