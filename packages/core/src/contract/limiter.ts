/** What a guard runs: limiters that keep counts in a store, and those that know the answer themselves. */

import type { Clock } from '../base/clock.js';
import type { Eventually } from '../base/host.js';
import type { Answer } from './ask.js';
import type { LiveLimits } from './control.js';
import type { LiveLink } from './control-link.js';
import type { Decision, Mode, OnStoreError } from './decision.js';
import type { Fault, Notice } from './observer.js';
import type { KeptAnswer, Recorder, Recorders } from './recorder.js';
import type { Field, LimitRequest, Per } from './request.js';
import type { Step, Values } from './store.js';
import type { LateValue, Upkeep } from './upkeep.js';

/** How a response ended, as an adapter tells it to {@link Admission.release}. */
export interface ResponseEnd {
  /** The status of the response, if one was sent. */
  readonly status?: number;
  /** True if the client went away before the response was complete. */
  readonly aborted?: boolean;
}

/** How a request ended, as a guard tells it to its limiters. */
export interface RequestOutcome extends ResponseEnd {
  /** Milliseconds from the call of `admit` to the end of the request, by the guard's clock. */
  readonly durationMs: number;
  /** True if another limiter of the guard refused the request: `status` is that of the refusal, no handler ran. */
  readonly refused?: boolean;
}

/** What a stored limiter makes of a request: a question to the store, or the decision where that needs no store. */
export type Question = Step | Decision;

/** Steps for the store, now or later; undefined for none. */
export type StepsBack = readonly Step[] | undefined | Promise<readonly Step[] | undefined>;

interface LimiterBase<Raw> {
  /** Identifies the limiter in headers, bodies, metrics and, with the key, in the store. */
  readonly name: string;
  readonly mode: Per<Raw, Mode>;
  /** What may be a mistake in how it was made: its guard logs each in one line, once. */
  readonly notices?: readonly Notice[] | undefined;
  /**
   * Told once of the end of a request, when its response has closed; answers what to give back to the store, if
   * anything. What it throws is a fault.
   *
   * - Of a stored limiter it is called if the guard let the request pass and the store charged it. If its step has a
   *   claim, the permits of the request wait for its promise, at most `storeTimeout`.
   * - Of a local limiter it is called if its own decision let the request pass, in shadow too: so it may hold a permit
   *   until then. If another limiter refused the request, it is called at once, with `refused` and the status of the
   *   refusal.
   */
  readonly finish?:
    | ((turn: LimiterTurn<Raw>, outcome: RequestOutcome, context: StepContext) => StepsBack)
    | undefined;
}

/** A limiter whose count lives in a store. */
export interface StoredLimiter<Raw = unknown> extends LimiterBase<Raw> {
  readonly kind: 'stored';
  /** The rule as declared, by which two limiters of one name are compared. */
  readonly rule: Step['rule'];
  /** True if it was given a name; a shared store needs one. */
  readonly named: boolean;
  /** The share of the keys for which it is enforced, 0 to 1. Default 1. */
  readonly share?: number;
  /**
   * What it does when the store cannot answer, as far as it has a say of its own: for the line that tells of an outage.
   */
  readonly onStoreError?: OnStoreError | undefined;
  /** True if a function of the app gives the key: its guard looks whether that tells callers apart. */
  readonly isKeyed?: boolean | undefined;
  /** The options of `rateLimit`, from which `createLimiter` makes a limiter that needs no request. */
  readonly rateOptions?: object | undefined;
  /** Of a limiter that keeps answers for repeats. A guard has at most one of those. */
  readonly keeping?: Keeping<Raw> | undefined;
  /**
   * The question to the store, or the decision without it; a promise if a callback answers with one, which must not
   * reject. Must not throw. If its rule's limit is 0, nobody passes and no store is asked.
   *
   * @param binding whether it may refuse the request: false in shadow
   * @param live numbers that were set live, in place of those that were declared
   */
  step(
    request: LimitRequest<Raw>,
    binding: boolean,
    context: StepContext,
    live?: LiveLimits,
  ): Question | Promise<Question>;
  /** From the store's answer to the decision. */
  decide(step: Step, answer: Answer): Decision;
}

/** A limiter that needs no store. */
export interface LocalLimiter<Raw = unknown> extends LimiterBase<Raw> {
  readonly kind: 'local';
  decide(request: LimitRequest<Raw>, context: StepContext): Decision;
}

/** What a guard runs: a limiter with a count in a store, or one that decides by itself. */
export type Limiter<Raw = unknown> = StoredLimiter<Raw> | LocalLimiter<Raw>;

/** What a guard lends its limiters. */
export interface StepContext {
  readonly onStoreError: OnStoreError;
  fault(fault: Fault): void;
  /**
   * What to write as {@link Step.limiter} in place of the name: without a store each limiter object has its own count.
   */
  readonly countedAs?: string | undefined;
  /** How live numbers are read; undefined without a control. */
  readonly live?: LiveLink | undefined;
  /** How long to wait for a callback that answers with a promise, in milliseconds. Default 1,000. */
  readonly callbackTimeoutMs?: number | undefined;
}

/** What a limiter was asked about a request, and what came of it. */
export interface LimiterTurn<Raw = unknown> {
  readonly request: LimitRequest<Raw>;
  /** How far the limiter went: as declared, or as set live. */
  readonly mode: Mode;
  /** Of a stored limiter: the question to the store. */
  readonly step?: Step | undefined;
  /** Of a stored limiter: the store's answer. */
  readonly answer?: Answer | undefined;
  readonly decision: Decision;
}

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
  answerIn(turns: readonly KeptTurn<Raw>[]): KeptAnswer | undefined;
  /** What the body of a refusal says, if it is one by such a limiter. */
  problemOf(decision: Decision): OwnProblem | undefined;
  /** What is added to the fields of a refusal. */
  fieldsIn(turns: readonly KeptTurn<Raw>[]): readonly Field[] | undefined;
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
