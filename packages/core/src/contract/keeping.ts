/** A limiter that lets a request run once: it keeps the answer, and gives it to repeats of the request. */

import type { Clock } from '../base/clock.js';
import type { Answer } from './answer.js';
import type { Decision } from './decision.js';
import type { Field } from './field.js';
import type { KeptAnswer, Recorder, Recorders } from './recorder.js';
import type { Step } from './store.js';
import type { LimiterTurn, StepContext } from './turn.js';
import type { LateValue } from './upkeep.js';
import type { Values } from './values.js';

/** The request and its response, as far as a limiter that keeps answers needs them. */
export interface KeptExchange {
  readonly recorder: Recorder;
  /** The object that stands for the request: `claimOf` of it finds the claim. */
  readonly holder: object;
  /** Whether nobody waits for the response any more. */
  isGone(): boolean;
  /** Whether any guard has refused the request, or answered it. */
  isAnswered(): boolean;
}

/** What a guard lends such a limiter. */
export interface KeepContext extends StepContext {
  readonly clock: Clock;
  /** Where answers are kept. */
  readonly values: Values;
  /** How long a request waits for the store, in milliseconds. */
  readonly storeTimeoutMs: number;
  /** Asks the store about one step; the answer has a `failure` if the store cannot answer. */
  ask(step: Step): Answer | Promise<Answer>;
  /** Calls back if the store says that another owner has the claim of a step, before it has ended. */
  whenLost(step: Step, lost: () => void): void;
  /** From now on the claim of a step is not renewed. */
  abandon(step: Step): void;
  /** Writes `value`, which could not be written, again and again with `last`, the step that ends its claim. */
  writeLater(last: Step, value: LateValue): void;
  /** Ends the claim of a step by `last`, later than its request. */
  end(step: Step, last: Step): Promise<void> | undefined;
}

/** What becomes of a request whose claim the store refused. */
export interface Settled {
  readonly decision: Decision;
  /** Of a repeat: the answer to give. */
  readonly answer?: KeptAnswer | undefined;
  /** Of a refusal: fields to add. */
  readonly fields?: readonly Field[] | undefined;
}

/**
 * What becomes of it; or `again`: the claim may be free, so all limiters are to be asked again; or `own`: the request
 * itself has the claim, by a guard before, so the other limiters are to be asked without it.
 */
export type Settlement = Settled | 'again' | 'own';

/** The part of such a limiter that other limiters have not. */
export interface Keeping<Raw> {
  /** Exchanges make their recorders by these. */
  readonly recorders: Recorders;
  /** What to answer, where the store refused a request for the claim alone. A promise must not reject. */
  settle(
    turn: LimiterTurn<Raw>,
    exchange: KeptExchange,
    context: KeepContext,
  ): Settlement | Promise<Settlement>;
  /**
   * Called before the handler runs under the claim of `turn`, which waits for the promise, if there is one. `finish`
   * ends the claim.
   */
  begin(turn: LimiterTurn<Raw>, exchange: KeptExchange, context: KeepContext): void | Promise<void>;
}
