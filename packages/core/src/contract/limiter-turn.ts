import type { LiveLink } from './control-link.js';
import type { Decision, Mode, OnStoreError } from './decision.js';
import type { Fault, UnitsEvent } from './observer.js';
import type { LimitRequest } from './request.js';
import type { Answer, FaultSink } from './rule.js';
import type { Step } from './store.js';
import type { UpkeepClient } from './upkeep.js';

/** How a response ended. Adapters pass it to {@link Admission.release}. */
export interface ResponseEnd {
  readonly status?: number;
  /** True if the client went away before the response was complete. */
  readonly aborted?: boolean;
  /** True if the client went away before a handler could run. */
  readonly unhandled?: boolean;
}

/** What a guard passes to its limiters. */
export interface StepContext {
  readonly onStoreError: OnStoreError;
  fault(fault: Fault): void;
  /** Replaces {@link Step.limiter} if the guard has no store, so each limiter object has a separate count. */
  readonly countedAs?: string | undefined;
  readonly notices?: FaultSink['notices'];
  readonly store?: FaultSink['store'];
  readonly live?: LiveLink | undefined;
  /** How long to wait for the promise of a callback, in milliseconds. Default 1,000. */
  readonly callbackTimeoutMs?: number | undefined;
}

/** One limiter's part in one request. */
export interface LimiterTurn<Raw = unknown> {
  readonly request: LimitRequest<Raw>;
  /** The mode in effect, which depends on the modes of the limiter and the guard, and on live settings. */
  readonly mode: Mode;
  readonly step?: Step | undefined;
  readonly answer?: Answer | undefined;
  readonly decision: Decision;
}

export interface Settling {
  readonly releases: {
    readonly client: UpkeepClient<Step>;
    giveBack(steps: readonly Step[]): Promise<void> | undefined;
    // The guard waits for the call when it closes. The call must not reject.
    track<Value>(call: Promise<Value>): Promise<Value>;
    // Called when the guard closes. The guard waits for the steps that it sends.
    onDrain?: (() => void) | undefined;
  };
  readonly observers: {
    fault(fault: Fault): void;
    units(event: UnitsEvent): void;
  };
}
