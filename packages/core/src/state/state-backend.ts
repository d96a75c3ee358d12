/** What a database must be able to do to keep counts: see `stateStore`. */

import type { StateText } from '../algorithms/texts.js';
import type { Clock } from '../base/clock.js';
import type { Step } from '../contract/store.js';

/** What changes: by name what is to be stored from now on, or undefined for a name that is to be deleted. */
export type StateChanges = ReadonlyMap<string, StateText | undefined>;

/**
 * Decides a group. It changes nothing outside and never throws, so a transaction may call it again; only the last call
 * counts.
 *
 * @param texts what is stored under each name, in the order of the names; undefined where nothing is
 * @param nowUs the clock of the database, in whole microseconds since the epoch
 */
export type Decide = (texts: readonly (string | undefined)[], nowUs: number) => StateChanges;

/** A database that keeps a text under each name. Only `transact` is required. */
export interface StateBackend {
  /**
   * Reads the texts under `names`, calls `decide` with them, and stores what it returns. All in one transaction: nobody
   * else decides about these names between this reading and this writing. Resolves when all is stored.
   *
   * An error that it rejects with is the error of the call, and the breaker counts it. Where an error is about this
   * call alone, reject with a `SpillwayError` with the code `SPW_STORE_ERROR`.
   *
   * @param names each of them once, in ascending order: two transactions that lock in this order cannot wait for each
   * other
   */
  transact(names: readonly string[], decide: Decide): Promise<void>;
  /** Shortens limiters and keys of more than 256 UTF-16 units: see `encodeName`. */
  hash?(text: string): string;
  /** See `Store.label`. */
  readonly label?: string;
  /** See `Store.testClock`. */
  readonly testClock?: Clock;
  /** See `Store.denialsLastUs`. */
  readonly denialsLastUs?: number;
  /** See `Store.domainOf`. It must be the same for all steps of one key. */
  domainOf?(step: Step): string;
}
