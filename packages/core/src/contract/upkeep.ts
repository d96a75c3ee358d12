/** What keeps leases alive while their requests run, and sees to it that they end once. */

import type { Clock } from '../base/clock.js';
import type { Eventually } from '../base/host.js';
import type { Answer } from './ask.js';

/** The way to the store, as upkeep needs it. `Held`: the steps of the store. */
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

/** Bytes that are left for releases that did not reach the store. */
export interface Room {
  bytes: number;
}

/**
 * Makes the upkeep of all permits and claims of one guard: its rule brings the code to the guard.
 *
 * @param track told of calls on their way, for which whoever closes waits
 */
export type UpkeepOf<Held> = (
  client: UpkeepClient<Held>,
  track: <T>(call: Promise<T>) => Promise<T>,
) => Upkeep<Held>;

/** The permits and claims of a guard. Each is named by the step that took it. */
export interface Upkeep<Held> {
  /** Permits held now. */
  readonly size: number;
  /**
   * Whether a permit or a claim was granted, or may have been though its answer is lost. It is then held, if the
   * request may go on.
   *
   * @param turns all of the request
   */
  begin(turn: HeldTurn<Held>, turns: readonly HeldTurn<Held>[]): boolean;
  /** The step that gives a permit back, or ends a claim; from now on it is not renewed. */
  release(step: Held, last?: Held): Held;
  /** From now on a claim is not renewed, and nothing is sent. */
  abandon(step: Held): void;
  /** Calls back if a renewal finds that another owner has the claim of a step that is held. */
  whenLost(step: Held, lost: () => void): void;
  /** Writes `value` again with `last`, which ends its claim, until it was written, or `last` is not sent again. */
  writeLater(last: Held, value: LateValue): void;
  /** The answers to steps that give back: what did not reach the store is sent again. */
  noteAnswers(steps: readonly Held[], answers: readonly Answer[]): void;
  /** The store is back, and may have forgotten or never heard. */
  catchUp(): void;
  /** Some hosts end a timer with the request that set it: what is long overdue is done by the next request. */
  keepUp(): void;
  /**
   * Gives all permits back, and leaves claims to their leases, for handlers may still run; done when the store has
   * answered, at the latest at `endUs`.
   */
  close(endUs: number): Promise<void>;
  /** Ends the claim of a step by what `ask` says, now or later; a fault meanwhile abandons it. */
  endClaim<Context extends ClaimContext>(
    step: Held,
    context: Context,
    ask: (context: Context) => Later<readonly Held[]>,
  ): Later<readonly Held[]>;
  /** Gives `steps` back in one call with the end of a claim; but after `patienceMs` without it. */
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

/** What the limiter of a claim is lent to end it. */
export interface ClaimContext {
  // A fault of the caller's kind, which upkeep only passes on.
  fault(fault: never): void;
  readonly callbackTimeoutMs?: number | undefined;
}

/** A value that could not be written. It waits for another try as long as the end of its claim may be sent again. */
export interface LateValue {
  /** Whether its claim was ended. */
  readonly isMarked: boolean;
  /** Its claim was ended just now. */
  mark(): void;
  /** Takes room for it, unless it has some; false if there is none. */
  hold(): boolean;
  /** Whether it need not be written any more. Never rejects. */
  write(): Promise<boolean>;
  /** Gives it up, and tells of that if it was not written. */
  drop(): void;
  /** Gives it up because it is not wanted any more. */
  forget(): void;
}
