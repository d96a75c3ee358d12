import type { StateText } from '../algorithms/by-name.js';
import type { Clock } from '../base/clock.js';
import type { Step } from '../contract/store.js';

/** The changes to write: the new text of each name, or undefined to delete it. */
export type StateChanges = ReadonlyMap<string, StateText | undefined>;

/**
 * Decides on the steps of one call, and returns the texts to write. It has no side effects and never throws. A retried
 * transaction may call it again; only the last call counts.
 *
 * @param texts the stored texts, in the order of the names; undefined if there is none
 * @param nowUs the clock of the database, in whole microseconds since the epoch
 */
export type Decide = (texts: readonly (string | undefined)[], nowUs: number) => StateChanges;

/** A database that stores a text under each name. Only `transact` is required. */
export interface StateBackend {
  /**
   * Reads the texts under `names`, calls `decide` with them, and stores what it returns, in one transaction: nothing
   * else may change these texts between the read and the write. Resolves when everything is stored.
   *
   * If it rejects, the call fails with that error, and the breaker counts it. For an error that concerns only this
   * call, reject with a `SpillwayError` with the code `SPW_STORE_ERROR`.
   *
   * @param names each name once, in ascending order. Transactions that lock in this order can't deadlock.
   */
  transact(names: readonly string[], decide: Decide): Promise<void>;
  /** Shortens ids of claims and values, and limiter names and keys longer than 256 UTF-16 units: see `encodeName`. */
  hash?(text: string): string;
  /** See `Store.label`. */
  readonly label?: string;
  /** See `Store.testClock`. */
  readonly testClock?: Clock;
  /** See `Store.denialsLastUs`. */
  readonly denialsLastUs?: number;
  /** See `Store.domainOf`. Must be the same for all steps of one key. */
  domainOf?(step: Step): string;
}
