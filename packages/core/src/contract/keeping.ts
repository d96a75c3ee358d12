/** The interfaces between a guard and `idempotency()`, which stores responses and replays them. */

import type { Clock } from '../base/clock.js';
import type { Eventually } from '../base/host.js';
import type { Decision, OnStoreError } from './decision.js';
import type { LimiterTurn, StepContext } from './limiter-turn.js';
import type { Recorder, Recorders, StoredResponse } from './recorder.js';
import type { Header } from './request.js';
import type { Answer } from './rule.js';
import type { Step, Values } from './store.js';
import type { LateValue, Upkeep } from './upkeep.js';

export interface StoredExchange {
  readonly recorder: Recorder;
  /** The object that handlers pass to `claimOf` to get the claim of the request. */
  readonly holder: object;
  isGone(): boolean;
  isAnswered(): boolean;
}

export interface KeepContext extends StepContext {
  readonly clock: Clock;
  readonly values: Values;
  readonly storeTimeoutMs: number;
  /** Sends one step to the store. If the store fails, the answer has a `failure`. */
  ask(step: Step): Answer | Promise<Answer>;
  /** @param askedUs when the store was asked for the claim */
  whenLost(step: Step, askedUs: number, lost: (isTaken: boolean) => void): void;
  abandon(step: Step): void;
  writeLater(last: Step, value: LateValue): void;
  /** Stops renewing the claim of `step`, and sends `last`, the step that ends it. */
  end(step: Step, last: Step): Promise<void> | undefined;
}

export interface Settled {
  readonly decision: Decision;
  /** For a replay: the stored response to send. */
  readonly answer?: StoredResponse | undefined;
  readonly headers?: readonly Header[] | undefined;
}

/**
 * What happens to a request whose claim the store rejected: a final decision, or what the guard must do next.
 *
 * - `again`: ask all limiters again, because the claim may be free now.
 * - `own`: ask the other limiters without the claim, because the request already holds the claim through an earlier
 *   guard.
 */
export type Settlement = Settled | 'again' | 'own';

export interface RecordedExchange {
  recorder?(recorders: Recorders): Recorder;
  isGone(): boolean;
}

export interface KeeperParts {
  readonly context: StepContext;
  readonly client: {
    readonly clock: Clock;
    readonly store: { readonly values?: Values | undefined };
    /** The number of limiters in this process that have no store; 0 if the guard has a store. */
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
  /** Further limiters of the guard that store responses. A guard may have only one, so this must be empty. */
  readonly others: readonly unknown[];
}

export interface ClaimTurn<Raw> extends Omit<LimiterTurn<Raw>, 'decision'> {
  readonly limiter: {
    readonly name: string;
    readonly onStoreError?: OnStoreError | undefined;
    readonly keeping?: unknown;
  };
  readonly decision?: Decision | undefined;
  readonly settled?: Settled | undefined;
  readonly askedUs: number;
}

/** Members of a problem document (RFC 9457). Each text is already escaped for a JSON string. */
export interface Problem {
  readonly type: string;
  readonly title: string;
}

export interface OwnProblem extends Problem {
  readonly detail: string;
  /** What the client should do. Default: when to try again. */
  readonly advice?: string | undefined;
}

export interface Keeper<Raw> {
  /**
   * Checks whether the request is rejected only because of its claim. If so, returns the turn with that claim. Returns
   * undefined if another limiter rejects the request too, or if the store couldn't answer.
   */
  rejecting<Turn extends ClaimTurn<Raw>>(turns: readonly Turn[]): Turn | undefined;
  /**
   * Decides what happens to a request that {@link rejecting} has found. If the limiter throws, the request stays
   * rejected, because an earlier attempt may have run the handler.
   */
  settle(turn: ClaimTurn<Raw>, exchange: StoredExchange): Settlement | Promise<Settlement>;
  /**
   * Tells the limiter that the handler is about to run. The handler waits for the promise. If the limiter throws, the
   * error is reported as a fault and the response is not stored.
   */
  begin(turns: readonly ClaimTurn<Raw>[], exchange: StoredExchange): Promise<void> | undefined;
  settledIn(turns: readonly ClaimTurn<Raw>[]): Settled | undefined;
  problemOf(decision: Decision): OwnProblem | undefined;
}

export interface Keeping<Raw> {
  readonly see: (exchange: RecordedExchange, holder: object) => StoredExchange;
  /**
   * Makes the keeper of a guard. Only `idempotency()` imports the keeper's code, so other guards don't bundle it.
   *
   * @throws SpillwayError `SPW_LIMITER_INVALID`, `SPW_STORE_INVALID`
   */
  readonly keeper: (parts: KeeperParts) => Keeper<Raw>;
}
