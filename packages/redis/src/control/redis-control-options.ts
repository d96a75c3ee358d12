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

/** Options of `redisControl`. */
export interface RedisControlOptions {
  /** How often each process polls for changes, and so how soon they take effect: 50 ms to 1 min. Default `'500ms'`. */
  readonly every?: Duration | undefined;
  /** The store's `hashKeys` secret. Keys in live settings are then stored as hashes too. */
  readonly hashKeys?: string | Uint8Array | undefined;
  /** The store's `prefix`. Default `'spw:'`. */
  readonly prefix?: string | undefined;
  /**
   * Called once when Redis stops answering. Also called if Redis has lost or replaced settings, or has invalid ones,
   * and if an announcement or an offer of lost settings fails. Default: a warning on the console.
   */
  readonly onFault?: ((fault: Fault) => void) | undefined;
}

export const CONTROL_OPTIONS: NamesOf<RedisControlOptions> = {
  every: 1,
  hashKeys: 1,
  prefix: 1,
  onFault: 1,
};

/** The result of `restore`. */
export interface Restored {
  /** Number of overrides written back. */
  readonly restored: number;
  /**
   * Why nothing was written back; null on success.
   *
   * - `none-kept`: no process has offered lost settings.
   * - `not-lost`: Redis has the same settings or newer ones.
   * - `other-settings`: Redis has settings of another data set.
   */
  readonly refused: 'none-kept' | 'not-lost' | 'other-settings' | null;
}

/**
 * The control that `redisControl` returns, like that of `memoryControl`. The promise of a change resolves when the
 * change is stored in Redis. This process then follows it, at the latest after its next poll. Promises reject for wrong
 * arguments or too many overrides, and with `SPW_STORE_UNAVAILABLE`, `SPW_STORE_TIMEOUT` or `SPW_STORE_ERROR`. After
 * these three, the change may have been made.
 */
export interface RedisControl extends Control {
  /**
   * Sets mode, share or limits of a limiter. Omitted settings stay as they are. With `*`, a setting applies to every
   * limiter for which it was not set by name.
   */
  set(limiter: string, settings: LimiterSettings, note: OverrideNote): Promise<void>;
  /**
   * Removes the live settings of a limiter, so its declared settings, or the live settings of `*`, apply again. With
   * `only`, removes just the named ones. Settings of single keys stay (see `clearKey`).
   */
  clear(limiter: string, note: ChangeNote, only?: readonly ClearableSetting[]): Promise<void>;
  /**
   * Rejects all requests of a key, unless the limiter is off or in shadow mode. Write the key as the limiter counts it:
   * an address is `@` and its canonical text.
   */
  block(limiter: string, key: string, note: OverrideNote): Promise<void>;
  /** Lets a key pass: the limiter neither rejects nor counts it. */
  allow(limiter: string, key: string, note: OverrideNote): Promise<void>;
  /**
   * Gives a key its own limits, which replace the limiter's live limits. Omitted numbers are as declared, or as in the
   * key's plan. With `*` as the limiter, only a factor can be set, and it applies to every limiter that has no limits
   * for the key.
   */
  limitKey(limiter: string, key: string, limits: LiveLimits, note: OverrideNote): Promise<void>;
  /**
   * Removes the settings of a key: whether it is blocked or allowed (`'ruling'`), and its `'limits'`. With `only`,
   * removes just the named ones.
   */
  clearKey(
    limiter: string,
    key: string,
    note: ChangeNote,
    only?: readonly ClearableOfKey[],
  ): Promise<void>;
  /**
   * Removes the key from denial caches and fallback counters in all processes. Call it after you have reset the key's
   * count. With `hashKeys`, fallback counters keep the key, because they can't find it by its hash.
   */
  forget(limiter: string, key: string, note: ChangeNote): Promise<void>;
  /** The current overrides, latest first. */
  list(): Promise<readonly Override[]>;
  /** The latest 1,000 changes, latest first. An override and its expiry share one entry. */
  history(): Promise<readonly Change[]>;
  /**
   * The limiters that processes have announced, by name. An entry is kept for ten minutes after its last announcement,
   * plus the time until the limiter's counts expire.
   */
  limiters(): Promise<readonly KnownLimiter[]>;
  /**
   * The processes that have limiters under a control, at most 1,000. A killed process stays listed for at most six
   * minutes.
   */
  followers(): Promise<readonly Follower[]>;
  /**
   * Polls for changes now, for instance at startup, and waits for Redis at most `within` (default 1 s). Never rejects;
   * resolves to false if Redis did not answer in time. A later answer is still applied.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID`
   */
  refresh(within?: Duration): Promise<boolean>;
  /** Removes all live settings, including those that Redis has lost. The declared settings apply again. */
  clearAll(note: ChangeNote): Promise<void>;
  /**
   * Writes back the live settings that Redis has lost, except expired ones. Of the revisions that processes have
   * offered, the newest is used. `force` overwrites settings that were set after the loss. A change, such as `set`,
   * restores lost settings too.
   */
  restore(note: ChangeNote, options?: { readonly force?: boolean }): Promise<Restored>;
  /**
   * Whether Redis had lost the live settings at the last poll, because it was flushed, restarted or replaced. This
   * process keeps the newest settings that any process knows.
   */
  readonly settingsLost: boolean;
  /** Stops polling for changes. Current settings stay until they expire. The client stays open. */
  close(): void;
}
