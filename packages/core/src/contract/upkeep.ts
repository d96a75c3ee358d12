/** Renews leases while their requests run, and releases each exactly once. */

import type { Clock } from '../base/clock.js';
import type { Eventually } from '../base/host.js';
import type { Answer } from './ask.js';

/** What upkeep needs to call the store. `Held` is the type of the store's steps. */
export interface UpkeepClient<Held> {
  readonly clock: Clock;
  readonly releaseRoom: Room;
  readonly link: {
    renew(steps: readonly Held[], forUs: number): Eventually<readonly Answer[]>;
    giveBack<Value>(
      steps: readonly Held[],
      then: (answers: readonly Answer[]) => Eventually<Value>,
      forUs?: number,
    ): Eventually<Value>;
  };
}

/** The memory that is free for releases that must be retried. */
export interface Room {
  bytes: number;
}

/**
 * Makes the upkeep of all permits and claims of one guard. The rules of permits and claims contain this function, so
 * other guards don't have its code.
 *
 * @param track registers calls in flight, which `close` waits for
 */
export type UpkeepOf<Held> = (
  client: UpkeepClient<Held>,
  track: <T>(call: Promise<T>) => Promise<T>,
) => Upkeep<Held>;

/** The permits and claims of a guard. Each is identified by the step that took it. */
export interface Upkeep<Held> {
  /** Permits held now. */
  readonly size: number;
  /**
   * Returns whether a permit or claim was granted, or may have been granted although the answer was lost. If the
   * request is allowed, starts to renew the permit or claim.
   *
   * @param turns the turns of all limiters for the request
   */
  begin(turn: HeldTurn<Held>, turns: readonly HeldTurn<Held>[]): boolean;
  /**
   * Stops the renewal of a permit or claim. Returns the step that releases the permit or ends the claim: `last`, if
   * given.
   */
  release(step: Held, last?: Held): Held;
  /** Stops the renewal of a claim without sending anything. */
  abandon(step: Held): void;
  /** Calls `lost` if a renewal finds that another owner has the claim. */
  whenLost(step: Held, lost: () => void): void;
  /**
   * Retries writing `value` together with `last`, the step that ends its claim. Stops when the value is written or
   * `last` is no longer retried.
   */
  writeLater(last: Held, value: LateValue): void;
  /** Notes the answers to steps that give back, and retries steps that did not reach the store. */
  noteAnswers(steps: readonly Held[], answers: readonly Answer[]): void;
  /**
   * Call when the store is back. Renews leases that it may have lost, and retries releases that it may not have
   * received.
   */
  catchUp(): void;
  /**
   * Does overdue work. Each request calls it, because some platforms stop a timer when the request that set it ends.
   */
  keepUp(): void;
  /**
   * Releases all permits. Claims are left to expire with their leases, because handlers may still be running. Resolves
   * when the store has answered, or at `endUs`.
   */
  close(endUs: number): Promise<void>;
  /** Ends the claim of a step with the steps that `ask` returns. If `ask` reports a fault, the claim is abandoned. */
  endClaim<Context extends ClaimContext>(
    step: Held,
    context: Context,
    ask: (context: Context) => Later<readonly Held[]>,
  ): Later<readonly Held[]>;
  /**
   * Sends `steps` in one call with the steps that end a claim. If these take longer than `patienceMs`, sends `steps`
   * without them.
   */
  giveBackWith(
    claim: Promise<readonly Held[]>,
    steps: readonly Held[],
    giveBack: (steps: readonly Held[]) => Promise<void> | undefined,
    patienceMs: number,
  ): Promise<void>;
}

type Later<Value> = Value | Promise<Value>;

/** One limiter's part in a decision. */
export interface HeldTurn<Held> {
  readonly step?: (Held & { readonly binding: boolean }) | undefined;
  readonly answer?: Answer | undefined;
  readonly decision: { readonly allowed: boolean };
}

/** The context for the limiter that ends its claim. */
export interface ClaimContext {
  // `never`, because upkeep only passes faults on to the caller.
  fault(fault: never): void;
  readonly callbackTimeoutMs?: number | undefined;
}

/**
 * A value that could not be written yet. It is retried together with the step that ends its claim, for as long as that
 * step.
 */
export interface LateValue {
  /** Whether the claim of the value has ended. */
  readonly isMarked: boolean;
  /** Marks the claim as ended. */
  mark(): void;
  /** Reserves memory for the value, unless this was done before. Returns false if there is no room. */
  hold(): boolean;
  /** Tries to write the value. Resolves to true if it is written or no longer needed. Never rejects. */
  write(): Promise<boolean>;
  /** Gives the value up, and reports a fault if it was not written. */
  drop(): void;
  /** Drops the value without a report, because it is no longer needed. */
  forget(): void;
}
