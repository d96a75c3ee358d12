import type { Admission } from './admission.js';
import type { LiveLimits } from './control.js';
import type { Decision, Mode, OnStoreError } from './decision.js';
import type { Keeping } from './keeping.js';
import type { LimiterTurn, ResponseEnd, Settling, StepContext } from './limiter-turn.js';
import type { Notice } from './observer.js';
import type { LimitRequest, Per } from './request.js';
import type { Answer } from './rule.js';
import type { Step } from './store.js';

/** How a request ended. Guards pass it to their limiters. */
export interface RequestOutcome extends ResponseEnd {
  /** Milliseconds from the call of `admit` to the end of the request, by the guard's clock. */
  readonly durationMs: number;
  /**
   * True if another limiter of the guard rejected the request or replayed a response. Then `status` is the status of
   * that response, and no handler ran.
   */
  readonly rejected?: boolean;
}

/** What a limiter returns for a request: a step for the store, or a decision if no store is needed. */
export type Question = Step | Decision;

/** Steps to send at the end of a request, such as refunds, or a promise of them; undefined if there are none. */
export type StepsBack = readonly Step[] | undefined | Promise<readonly Step[] | undefined>;

interface LimiterBase<Raw> {
  /** Identifies the limiter in headers, bodies, metrics and, with the key, in the store. */
  readonly name: string;
  readonly mode: Per<Raw, Mode>;
  /** Probable mistakes in the limiter's options. The guard logs each once, in one line. */
  readonly notices?: readonly Notice[] | undefined;
  /** For stored limiters: called when a guard has let a request pass and will call {@link finish} for it. */
  readonly begin?:
    | ((turn: LimiterTurn<Raw>, admission: Admission, settling: Settling) => void)
    | undefined;
  /**
   * Called once, when the response has closed. Returns the steps to send, such as refunds, if any. An error is reported
   * as a fault.
   *
   * - Stored limiters: called if the guard let the request pass and the store or a fallback counter charged it. With a
   *   claim, also called if the store's answer was lost.
   * - Local limiters: called if the limiter let the request pass, or would have rejected it outside shadow mode. Until
   *   this call, the limiter can hold a permit. If another limiter rejected the request or replayed a response, this is
   *   called at once. The outcome then has `rejected` and the status of that response.
   */
  readonly finish?:
    | ((turn: LimiterTurn<Raw>, outcome: RequestOutcome, context: StepContext) => StepsBack)
    | undefined;
}

/** A limiter whose count lives in a store. */
export interface StoredLimiter<Raw = unknown> extends LimiterBase<Raw> {
  readonly kind: 'stored';
  /** The declared rule. Used to compare two limiters with the same name. */
  readonly rule: Step['rule'];
  /** True if the app named the limiter. A shared store requires a name. */
  readonly named: boolean;
  /** The share of keys for which the limit is enforced, 0 to 1. Default 1. */
  readonly share?: number;
  readonly onStoreError?: OnStoreError | undefined;
  /** True if a function of the app returns the key. The guard then warns if all requests have the same key. */
  readonly isKeyed?: boolean | undefined;
  /** The options of `rateLimit`, which `createLimiter` reads to make a limiter without HTTP. */
  readonly rateOptions?: object | undefined;
  /** Set for a limiter that stores responses. A guard has at most one. */
  readonly keeping?: Keeping<Raw> | undefined;
  /**
   * Returns the step for the store, or the decision if no store is needed; a promise of either if a callback returns a
   * promise. Must not throw, and the promise must not reject. A step whose rule has the limit 0 is rejected without
   * calling the store.
   *
   * @param binding whether the step may reject the request: false in shadow mode
   * @param live numbers that replace the declared ones
   */
  step(
    request: LimitRequest<Raw>,
    binding: boolean,
    context: StepContext,
    live?: LiveLimits,
  ): Question | Promise<Question>;
  decide(step: Step, answer: Answer): Decision;
}

/** A limiter that needs no store. */
export interface LocalLimiter<Raw = unknown> extends LimiterBase<Raw> {
  readonly kind: 'local';
  decide(request: LimitRequest<Raw>, context: StepContext): Decision;
}

/** A limiter of a guard, with or without a count in a store. */
export type Limiter<Raw = unknown> = StoredLimiter<Raw> | LocalLimiter<Raw>;
