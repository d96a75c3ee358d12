/** What a guard runs: limiters that keep counts in a store, and those that know the answer themselves. */

import type { Answer } from './ask.js';
import type { LiveLimits } from './control.js';
import type { Decision, Mode, OnStoreError } from './decision.js';
import type { Keeping } from './keeping.js';
import type { LimiterTurn, ResponseEnd, StepContext } from './limiter-turn.js';
import type { Notice } from './observer.js';
import type { LimitRequest, Per } from './request.js';
import type { Step } from './store.js';

/** How a request ended, as a guard tells it to its limiters. */
export interface RequestOutcome extends ResponseEnd {
  /** Milliseconds from the call of `admit` to the end of the request, by the guard's clock. */
  readonly durationMs: number;
  /** True if another limiter of the guard refused the request: `status` is that of the refusal, no handler ran. */
  readonly rejected?: boolean;
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
