/** What users see of the control in Redis. */

import type {
  Change,
  ChangeNote,
  ClearableOfKey,
  ClearableSetting,
  Control,
  Duration,
  Fault,
  LimiterSettings,
  LiveLimits,
  Override,
  OverrideNote,
} from '@spillway/core';
import type { NamesOf } from '@spillway/core/adapter';
import type { Follower } from './followers.js';
import type { KnownLimiter } from './known-limiter.js';

/** All optional. */
export interface RedisControlOptions {
  /**
   * How often each process looks for changes, 50 ms to 1 min. So a change takes effect in every process at most so much
   * later. Default `'500ms'`.
   */
  readonly every?: Duration | undefined;
  /**
   * The same secret as the store's `hashKeys`: then keys that are blocked, allowed or reset are stored as hashes too.
   */
  readonly hashKeys?: string | Uint8Array | undefined;
  /** The same as the store's `prefix`. Default `'spw:'`. */
  readonly prefix?: string | undefined;
  /** Called once when Redis does not answer, and for each value in Redis that is not valid. */
  readonly onFault?: ((fault: Fault) => void) | undefined;
}

export const CONTROL_OPTIONS: NamesOf<RedisControlOptions> = {
  every: 1,
  hashKeys: 1,
  prefix: 1,
  onFault: 1,
};

/** What came of `restore`. */
export interface Restored {
  /** How many overrides were written back. */
  readonly restored: number;
  /**
   * Why none was: no process has offered lost settings (`none-kept`); Redis has the same settings or newer ones
   * (`not-lost`), or settings of another data set (`other-settings`). Null if they were written back.
   */
  readonly refused: 'none-kept' | 'not-lost' | 'other-settings' | null;
}

/**
 * What `redisControl` returns. Its methods are those of `memoryControl`; their promises resolve when the change
 * is in Redis and this process follows it. They reject with `SPW_STORE_UNAVAILABLE`, `SPW_STORE_TIMEOUT` (the change
 * may have been made) or `SPW_STORE_ERROR`.
 */
export interface RedisControl extends Control {
  /**
   * Sets mode, share or limits of a limiter. Settings that you leave out stay as they are. `*` sets them for all
   * limiters that have no such setting of their own.
   */
  set(limiter: string, settings: LimiterSettings, note: OverrideNote): Promise<void>;
  /**
   * Removes live settings of a limiter: all of them, or those in `only`. The declared ones count again. What is set for
   * single keys stays: see `clearKey`.
   */
  clear(limiter: string, note: ChangeNote, only?: readonly ClearableSetting[]): Promise<void>;
  /** Refuses a key, written as the limiter counts it (an address is `@` and its canonical text). */
  block(limiter: string, key: string, note: OverrideNote): Promise<void>;
  /** Lets a key pass: the limiter neither refuses nor counts it. */
  allow(limiter: string, key: string, note: OverrideNote): Promise<void>;
  /**
   * Gives a key numbers of its own, in place of those of the limiter, declared or live. What is left out of them is as
   * declared. With `*`, for every limiter without such numbers for the key, only a factor can be set.
   */
  limitKey(limiter: string, key: string, limits: LiveLimits, note: OverrideNote): Promise<void>;
  /**
   * Removes what is set for a key: that it is blocked or allowed (`'ruling'`), and its `'limits'`; or one of them, with
   * `only`.
   */
  clearKey(
    limiter: string,
    key: string,
    note: ChangeNote,
    only?: readonly ClearableOfKey[],
  ): Promise<void>;
  /**
   * Makes every guard in all processes forget that it refused the key. Call it after you have reset the key's count.
   */
  forget(limiter: string, key: string, note: ChangeNote): Promise<void>;
  /** The overrides that are set now, latest first. */
  list(): Promise<readonly Override[]>;
  /**
   * The latest 1,000 changes, latest first. An override that ends by itself adds no entry: its entry says when it will
   * end.
   */
  history(): Promise<readonly Change[]>;
  /**
   * The limiters that processes have announced, by name. A process announces a limiter when it is made and every five
   * minutes. The limiter is known for ten minutes after that, or longer if its counts take longer to come to rest.
   */
  limiters(): Promise<readonly KnownLimiter[]>;
  /**
   * The processes that have limiters under a control. Each notes itself soon after it starts, after each change that it
   * follows, and every five minutes. One that is killed is forgotten six minutes after its last note. At most 1,000.
   */
  followers(): Promise<readonly Follower[]>;
  /**
   * Looks for changes now, for instance when a process starts, and waits for Redis at most `within` (default 1 s).
   * Never rejects; resolves to false if Redis did not answer in time. A later answer is still used.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID`
   */
  refresh(within?: Duration): Promise<boolean>;
  /** Ends everything that is set, for limiters and for keys, also what Redis has lost: all is as declared. */
  clearAll(note: ChangeNote): Promise<void>;
  /**
   * Writes back the live settings that Redis has lost: those of the newest revision that any process still follows.
   * What has ended meanwhile is left out. `force` writes them also over settings of another data set, which were set
   * since. A change, such as `set`, writes lost settings back too.
   */
  restore(note: ChangeNote, options?: { readonly force?: boolean }): Promise<Restored>;
  /**
   * Whether Redis had lost the live settings at the last look: it was flushed, or restarted or replaced without them.
   * The settings of the last revision that any process knows stay in force.
   */
  readonly settingsLost: boolean;
  /** Stops looking for changes. What is set now stays until it ends. The client stays yours. */
  close(): void;
}
