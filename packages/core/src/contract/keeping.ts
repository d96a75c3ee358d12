/** A limiter that lets a request run once: it keeps the answer, and gives it to repeats of the request. */

import type { Clock } from '../base/clock.js';
import type { Eventually } from '../base/host.js';
import type { Answer } from './ask.js';
import type { Decision, Mode, OnStoreError } from './decision.js';
import type { LimiterTurn, StepContext } from './limiter-turn.js';
import type { Recorder, Recorders, StoredResponse } from './recorder.js';
import type { Header, LimitRequest } from './request.js';
import type { Step, Values } from './store.js';
import type { LateValue, Upkeep } from './upkeep.js';

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
  readonly answer?: StoredResponse | undefined;
  /** Of a refusal: fields to add. */
  readonly headers?: readonly Header[] | undefined;
}

/**
 * What becomes of it; or `again`: the claim may be free, so all limiters are to be asked again; or `own`: the request
 * itself has the claim, by a guard before, so the other limiters are to be asked without it.
 */
export type Settlement = Settled | 'again' | 'own';

/** An exchange that shows requests and responses. */
export interface RecordedExchange {
  recorder?(recorders: Recorders): Recorder;
  isGone(): boolean;
}

/** What a guard gives its keeper to work with. */
export interface KeeperParts {
  readonly context: StepContext;
  readonly client: {
    readonly clock: Clock;
    readonly store: { readonly values?: Values | undefined };
    /** How many limiters share the memory of those without a store; 0 with a store. */
    readonly withoutStore: number;
    readonly link: {
      ask<Value>(
        steps: readonly Step[],
        then: (answers: readonly Answer[]) => Eventually<Value>,
      ): Eventually<Value>;
    };
  };
  readonly releases: {
    permitsOf(step: Step): Upkeep<Step>;
    giveBack(steps: readonly Step[]): Promise<void> | undefined;
  };
  readonly storeTimeoutMs: number;
  /** Other limiters of the guard that keep answers: there must be none. */
  readonly others: readonly unknown[];
}

/** One limiter's part in a request. */
export interface KeptTurn<Raw> {
  readonly limiter: {
    readonly name: string;
    readonly onStoreError?: OnStoreError | undefined;
    readonly keeping?: Keeping<Raw> | undefined;
  };
  readonly request: LimitRequest<Raw>;
  readonly mode: Mode;
  readonly step?: Step | undefined;
  readonly answer?: Answer | undefined;
  readonly decision?: Decision | undefined;
  /** What became of a claim that the store refused. */
  readonly settled?: Settled | undefined;
}

/** What a problem document says (RFC 9457), as the inside of JSON strings. */
export interface Problem {
  readonly type: string;
  readonly title: string;
}

/** What a limiter itself says of a refusal. */
export interface OwnProblem extends Problem {
  readonly detail: string;
  /** What to do about it. Default: when to try again. */
  readonly advice?: string | undefined;
}

/** How a guard deals with its limiter that keeps answers. */
export interface Keeper<Raw> {
  /** The turn that alone refuses a request, by a claim of whose state the store has told. */
  refusing<Turn extends KeptTurn<Raw>>(turns: readonly Turn[]): Turn | undefined;
  /** What the limiter makes of such a turn. If it throws, the request is refused: it may have run before. */
  settle(turn: KeptTurn<Raw>, exchange: KeptExchange): Settlement | Promise<Settlement>;
  /**
   * Tells the limiter that the handler is about to run, which waits for the promise. What it throws is a fault: its
   * answer is not kept.
   */
  begin(turns: readonly KeptTurn<Raw>[], exchange: KeptExchange): Promise<void> | undefined;
  /** The answer to give, if the request is a repeat. */
  answerIn(turns: readonly KeptTurn<Raw>[]): StoredResponse | undefined;
  /** What the body of a refusal says, if it is one by such a limiter. */
  problemOf(decision: Decision): OwnProblem | undefined;
  /** What is added to the fields of a refusal. */
  headersIn(turns: readonly KeptTurn<Raw>[]): readonly Header[] | undefined;
}

/** Of a limiter that lets a request run once: how it keeps the answer, and gives it to repeats of the request. */
export interface Keeping<Raw> {
  /** The exchange as the limiter sees it. */
  readonly see: (exchange: RecordedExchange, holder: object) => KeptExchange;
  /**
   * Made once for each guard with such a limiter: other guards have no code for it.
   *
   * @throws SpillwayError `SPW_LIMITER_INVALID`, `SPW_STORE_INVALID`
   */
  readonly keeper: (parts: KeeperParts) => Keeper<Raw>;
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
