/** Renews leases while their requests run, and releases them when the requests end. */

import type { Clock } from '../base/clock.js';
import type { Eventually } from '../base/host.js';
import type { AnswerBase } from './ask.js';

export interface UpkeepClient<Held> {
  readonly clock: Clock;
  readonly releaseRoom: Room;
  readonly link: {
    giveBack<Value>(
      steps: readonly Held[],
      then: (answers: readonly AnswerBase[]) => Eventually<Value>,
      forUs?: number,
    ): Eventually<Value>;
  };
}

/** The memory left for releases that must be retried. */
export interface Room {
  bytes: number;
}

/**
 * Makes the {@link Upkeep} of one guard. Only the rules of permits and claims import its code, so apps without such
 * rules don't bundle it.
 *
 * @param track registers calls in flight, which the guard waits for when it closes
 */
export type UpkeepOf<Held> = (
  client: UpkeepClient<Held>,
  track: <T>(call: Promise<T>) => Promise<T>,
) => Upkeep<Held>;

/** The permits and claims of a guard. Each is identified by the step that took it. */
export interface Upkeep<Held> {
  readonly size: number;
  /**
   * Returns whether a permit or claim was granted, or may have been granted although the answer was lost. If all
   * limiters allow the request, also starts the renewals.
   *
   * @param turns the turns of all limiters for the request
   */
  begin(turn: HeldTurn<Held>, turns: readonly HeldTurn<Held>[]): boolean;
  /** Stops renewing a permit or claim. Returns the step to send: `last`, or by default a step that releases it. */
  release(step: Held, last?: Held): Held;
  /** Stops the renewal of a claim without sending anything. */
  abandon(step: Held): void;
  /**
   * Calls `lost` if a renewal finds that another owner has the claim (`isTaken`), or if no renewal has arrived for a
   * lease, so that another owner may have it. May call it again.
   *
   * @param askedUs when the store was asked for the claim: its lease began later
   */
  whenLost(step: Held, askedUs: number, lost: (isTaken: boolean) => void): void;
  /**
   * Keeps trying to write `value`, the response that belongs to a claim. `last` is the step that ends the claim. The
   * attempts stop when the value is written, or when `last` is no longer retried.
   */
  writeLater(last: Held, value: LateValue): void;
  /** Reads the answers to releases and ends of claims. Those that did not reach the store are sent again. */
  noteAnswers(steps: readonly Held[], answers: readonly AnswerBase[]): void;
  /** Call it when the store is back. Renews leases that it may have lost, and retries releases. */
  catchUp(): void;
  /** Sends overdue renewals and retries. Called for each request: some platforms stop timers with a request. */
  keepUp(): void;
  /**
   * Releases all permits, and resends the steps that did not reach the store. Running claims expire with their leases
   * instead, because handlers may still be running. Resolves when the store has answered, or at `endUs`.
   */
  close(endUs: number): Promise<void>;
  /**
   * Calls `ask` for the steps that end a claim, and returns them. Once `ask` has returned steps or has reported a
   * fault, the claim is no longer renewed.
   */
  endClaim<Context extends ClaimContext>(
    step: Held,
    context: Context,
    ask: (context: Context) => Later<readonly Held[]>,
  ): Later<readonly Held[]>;
  /** Sends `steps` with those of `claim` in one call, or first if `claim` takes longer than `patienceMs`. */
  giveBackWith(
    claim: Promise<readonly Held[]>,
    steps: readonly Held[],
    giveBack: (steps: readonly Held[]) => Promise<void> | undefined,
    patienceMs: number,
  ): Promise<void>;
}

type Later<Value> = Value | Promise<Value>;

export interface HeldTurn<Held> {
  readonly step?: (Held & { readonly binding: boolean }) | undefined;
  readonly answer?: AnswerBase | undefined;
  readonly decision: { readonly allowed: boolean };
}

export interface ClaimContext {
  // `never`, because upkeep only passes faults on to the caller.
  fault(fault: never): void;
  readonly callbackTimeoutMs?: number | undefined;
}

export interface LateValue {
  readonly isMarked: boolean;
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
