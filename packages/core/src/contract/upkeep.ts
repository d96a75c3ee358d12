/** What keeps leases alive while their requests run, and sees to it that they end once. */

import type { Clock } from '../base/clock.js';
import type { Eventually } from '../base/host.js';
import type { Answer } from './ask.js';

/** The way to the store, as upkeep needs it. `Held`: the steps of the store. */
export interface UpkeepClient<Held> {
  readonly clock: Clock;
  readonly releaseRoom: Room;
  renew(steps: readonly Held[], forUs: number): Eventually<readonly Answer[]>;
  giveBack<Value>(
    steps: readonly Held[],
    then: (answers: readonly Answer[]) => Eventually<Value>,
    forUs?: number,
  ): Eventually<Value>;
}

/** Bytes that are left for releases that did not reach the store. */
export interface Room {
  bytes: number;
}

/**
 * Makes the upkeep of the leases of one length.
 *
 * @param track told of renewals and releases on their way
 */
export type UpkeepOf<Held> = (
  client: UpkeepClient<Held>,
  leaseUs: number,
  track: (call: Promise<unknown>) => void,
) => Upkeep<Held>;

/** The leases of one length. A lease is named by the step that took it. */
export interface Upkeep<Held> {
  /** Leases held now. */
  readonly size: number;
  hold(step: Held): void;
  /** From now on it is not renewed. `last`: the step that ends a claim. */
  release(step: Held, last?: Held): void;
  /** Calls back if a renewal finds that another owner has the claim. */
  whenLost(step: Held, lost: () => void): void;
  /** Writes `value` again with `last`, the step that ends its claim. */
  writeLater(last: Held, value: LateValue): void;
  /** A claim was ended by `last`. If its value was not written before, the store may take it now. */
  noteDone(last: Held): void;
  /** A release did not reach the store: it is sent again. */
  noteLost(release: Held): void;
  /** The store is back, and may have forgotten or never heard. */
  catchUp(): void;
  /** Writes what waits to be written, once more. */
  writeNow(): Promise<void>;
  /** Stops; the releases that are left to send, with those of what is held if `givesBack`. */
  end(givesBack: boolean): readonly Held[];
  /** Some hosts end a timer with the request that set it: what is long overdue is done by the next request. */
  keepUp(): void;
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
