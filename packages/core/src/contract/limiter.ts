/** What a guard runs: limiters that keep counts in a store, and those that know the answer themselves. */

import type { LiveLimits } from './control.js';
import type { Decision } from './decision.js';
import type { Fault } from './fault.js';
import type { Mode, OnStoreError } from './mode.js';
import type { LimitRequest, Per } from './request.js';
import type { Answer, Step } from './store.js';

/** How a request ended, told to {@link Admission.release}. */
export interface RequestOutcome {
  /** The status of the response, if one was sent. */
  readonly status?: number;
  /** True if the client went away before the response was complete. */
  readonly aborted?: boolean;
}

/** What a guard lends its limiters for a request. */
export interface StepContext {
  readonly onStoreError: OnStoreError;
  fault(fault: Fault): void;
  /**
   * What to write as {@link Step.limiter} in place of the name: without a store each limiter object has its own count.
   */
  readonly countedAs?: string | undefined;
  /** The numbers that were set live for a limiter, if any were. */
  limitsOf?(limiter: string): LiveLimits | undefined;
}

interface LimiterBase<Raw> {
  /** Identifies the limiter in headers, bodies, metrics and, with the key, in the store. */
  readonly name: string;
  readonly mode: Per<Raw, Mode>;
}

/** A limiter whose count lives in a store. */
export interface StoredLimiter<Raw = unknown> extends LimiterBase<Raw> {
  readonly kind: 'stored';
  /** The rule as declared, by which two limiters of one name are compared. */
  readonly rule: Step['rule'];
  /** True if it was given a name; a shared store needs one. */
  readonly named: boolean;
  /** The share of keys for which it is enforced, 0 to 1. Default 1. */
  readonly share?: number;
  /**
   * What it does when the store cannot answer, as far as it has a say of its own: for the line that tells of an outage.
   */
  readonly onStoreError?: OnStoreError | undefined;
  /** The question to the store. Must not throw. If its rule's limit is 0, nobody passes and no store is asked. */
  step(request: LimitRequest<Raw>, binding: boolean, context: StepContext): Step;
  /** From the store's answer to the decision. */
  decide(step: Step, answer: Answer): Decision;
  /** What to give back to the store, now that the request is over. */
  readonly settle?:
    | ((
        step: Step,
        answer: Answer,
        outcome: RequestOutcome,
        request: LimitRequest<Raw>,
      ) => Step | undefined)
    | undefined;
}

/** A limiter that needs no store. */
export interface LocalLimiter<Raw = unknown> extends LimiterBase<Raw> {
  readonly kind: 'local';
  decide(request: LimitRequest<Raw>, context: StepContext): Decision;
}

export type Limiter<Raw = unknown> = StoredLimiter<Raw> | LocalLimiter<Raw>;
