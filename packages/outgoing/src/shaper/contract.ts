/** The interface of a shaper: what lets work start at a pace, over all processes that share its store. */

import type { Duration, HostSignal } from '@spillway/core';

export type { HostSignal } from '@spillway/core';

/** A slot that was taken: the moment at which work may start. */
export interface Reservation {
  readonly allowed: true;
  /** The key whose slot it is. */
  readonly key: string;
  /** How long to wait from now, in milliseconds. */
  readonly delayMs: number;
  /** When the slot is, in milliseconds since the epoch, by the clock of `Date.now()`. */
  readonly startAt: number;
  /** Gives the slot back, where nobody has taken a later one yet. After the slot's start it does nothing. */
  cancel(): void;
}

/** A slot that was refused. Nothing was taken. */
export interface Unreserved {
  readonly allowed: false;
  readonly key: string;
  /**
   * `wait`: longer than `maxWait` · `blocked`: an operator blocks the key · `closed`: the shaper was closed ·
   * `store-error`: the store did not answer, and `onStoreError` is `'deny'`.
   */
  readonly reason: 'wait' | 'blocked' | 'closed' | 'store-error';
  /** How long the wait would have been, in milliseconds; of a blocked key, how much longer it is blocked. */
  readonly wouldWaitMs: number;
}

/** How jobs that wait are ranked. */
export interface WaitOptions {
  /**
   * Of the jobs that wait in this process, those with a higher priority go first, as long as each job that they
   * overtake still starts within the `maxWait` that it was promised. Default 0.
   */
  readonly priority?: number | undefined;
}

/** How one piece of work is scheduled. */
export interface ScheduleOptions extends WaitOptions {
  /** Units: an integer from 1. Default 1. */
  readonly cost?: number | undefined;
  /** Ends the wait, and is passed to the work. */
  readonly signal?: HostSignal | undefined;
}

/** Lets work start at a pace, by key. */
export interface Shaper {
  readonly name: string;
  /** Units per window, as declared or as set live. */
  readonly limit: number;
  /** In milliseconds, as declared or as set live. */
  readonly windowMs: number;
  /** Units that may start at once after a rest, and the largest cost. */
  readonly burst: number;
  /** The time of one unit: `windowMs / limit`. */
  readonly periodMs: number;
  /** Takes the next slot, or nothing. */
  reserve(
    key: string,
    options?: { readonly cost?: number | undefined },
  ): Promise<Reservation | Unreserved>;
  /**
   * Asks key after key, in this order, and takes the next slot of the first whose wait is not too long. More than 1,000
   * keys reject with `SPW_GROUP_TOO_LARGE`.
   */
  reserveFirst(
    keys: readonly string[],
    options?: { readonly cost?: number | undefined },
  ): Promise<Reservation | Unreserved>;
  /**
   * Waits for a slot, then does the work. Settles as the work does. Rejects with `SPW_SHAPER_FULL`, `SPW_SHAPER_WAIT`,
   * `SPW_SHAPER_BLOCKED` or `SPW_SHAPER_CLOSED` where there is no slot, with `SPW_SHAPER_WAIT` if a pause or an outage
   * keeps the job from its slot until `maxWait` is over, and with the reason of `signal` if that comes first. The work
   * is given `signal`, or one that is never aborted.
   */
  schedule<T>(
    key: string,
    work: (signal: HostSignal) => T | PromiseLike<T>,
    options?: ScheduleOptions,
  ): Promise<T>;
  /**
   * How long a job of one unit and this priority would wait that came now, in milliseconds, for pauses too, if no other
   * came after it. Takes nothing. Jobs that wait in other processes do not let it overtake.
   */
  waitOf(key: string, options?: WaitOptions): Promise<number>;
  /** How much longer a pause of the key lasts, in milliseconds; 0 if there is none, or nobody can tell. */
  pauseOf(key: string): Promise<number>;
  /** How many jobs wait in this process. */
  queueLength(key: string): number;
  /**
   * Nobody starts before this time is over, in any process. A pause is made longer by another one, never shorter.
   * Rejects with `SPW_STORE_UNAVAILABLE` if the store does not answer; it is told again while the pause lasts.
   */
  pause(key: string, duration: Duration): Promise<void>;
  /** Refuses what waits and gives its slots back. Resolves when all that runs has ended, however long that takes. */
  close(): Promise<void>;
}
