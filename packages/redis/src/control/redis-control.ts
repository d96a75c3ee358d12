/** The control of several processes, in Redis. */

import type {
  Change,
  ChangeNote,
  ClearableOfKey,
  ClearableSetting,
  Control,
  Duration,
  Fault,
  KeyRuling,
  LimiterSettings,
  LiveLimits,
  Override,
  OverrideNote,
} from '@spillway/core';
import { type NamesOf, tellFault } from '@spillway/core/adapter';
import {
  type CheckedChange,
  checkClear,
  checkClearKey,
  checkKeyLimits,
  checkKeyRuling,
  checkSet,
  tooMany,
} from '@spillway/core/control';
import { durationBetween, MAX_LIMITERS, type Rule, toMicroseconds } from '@spillway/core/store';
import { Transport } from '../calls/transport.js';
import { checkRedisOptions } from '../check-options.js';
import { type AnyRedisClient, asRedisClient } from '../clients/as-redis-client.js';
import type { RedisClient } from '../clients/client.js';
import { keyHasher } from '../codec/keys.js';
import { prefixFrom } from '../codec/prefix.js';
import { Announcer } from './announcer.js';
import { ControlScripts } from './control-scripts.js';
import { decodeLimiters, type KnownLimiter } from './known-limiter.js';
import { decodeEntry, encodeChange } from './records.js';
import { SettingsPoller } from './settings-poller.js';

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

const NAMES: NamesOf<RedisControlOptions> = { every: 1, hashKeys: 1, prefix: 1, onFault: 1 };

/**
 * What {@link redisControl} returns. Its methods are those of `memoryControl`; their promises resolve when the change
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
   * Looks for changes now, for instance when a process starts, and waits for Redis at most `within` (default 1 s).
   * Never rejects; resolves to false if Redis did not answer in time. A later answer is still used.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID`
   */
  refresh(within?: Duration): Promise<boolean>;
  /** Stops looking for changes. What is set now stays until it ends. The client stays yours. */
  close(): void;
}

/**
 * Live settings of several processes, kept in Redis. From its first request on, each process looks for changes in the
 * background, twice a second; no request waits for that. While Redis does not answer, the last settings stay in force,
 * and end when they should.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts
 * import { createGuard, rateLimit } from '@spillway/core';
 * import { redisControl, redisStore } from '@spillway/redis';
 *
 * const control = redisControl(redis);
 * const limiter = rateLimit({ name: 'api', limit: 100, window: '1m' });
 * const guard = createGuard(limiter, { store: redisStore(redis), control });
 * await control.set('api', { mode: 'off' }, { by: 'ada', because: 'refuses paying customers', for: '10m' });
 * ```
 */
export function redisControl(
  client: AnyRedisClient,
  options: RedisControlOptions = {},
): RedisControl {
  return new InRedis(asRedisClient(client), options);
}

class InRedis implements RedisControl {
  private readonly scripts: ControlScripts;
  private readonly poller: SettingsPoller;
  private readonly stored: (key: string) => string;
  private readonly announced = new Map<string, Rule | undefined>();
  private readonly announcer: Announcer;

  constructor(client: RedisClient, options: RedisControlOptions) {
    checkRedisOptions(options, 'redisControl()', NAMES);
    const { every = '500ms', hashKeys, onFault, prefix } = options;
    const everyUs = durationBetween('every', every, '50ms', '1m');
    this.scripts = new ControlScripts(new Transport(client), prefixFrom(prefix));
    this.stored = hashKeys === undefined ? (key) => key : keyHasher(hashKeys);
    this.poller = new SettingsPoller((known) => this.scripts.read(known), everyUs, onFault);
    const announced = () =>
      [...this.announced].map(([name, rule]) => {
        return { name, rules: rule ? [rule] : [], isFollowed: true };
      });
    this.announcer = new Announcer(this.scripts, announced, (error) =>
      tellFault(onFault, { limiter: '', source: 'control', error }),
    );
  }

  register(limiter: string, rule?: Rule): void {
    if (this.announced.size >= MAX_LIMITERS && !this.announced.has(limiter)) return;
    this.announced.set(limiter, rule);
    this.announcer.changed();
  }

  settingsOf(limiter: string): LimiterSettings | undefined {
    this.poller.keepUp();
    this.announcer.keepUp();
    return this.poller.overrides.settingsOf(limiter);
  }

  rulingOn(limiter: string, key: string): KeyRuling | undefined {
    const { overrides } = this.poller;
    // Hashing a key takes longer than all the rest, so it is done only if something is set for some key.
    return overrides.concernsKeys(limiter)
      ? overrides.rulingOn(limiter, this.stored(key))
      : undefined;
  }

  limitsOf(limiter: string, key: string): LiveLimits | undefined {
    const { overrides } = this.poller;
    return overrides.concernsKeys(limiter)
      ? overrides.limitsOf(limiter, this.stored(key))
      : undefined;
  }

  resetsOf(limiter: string): ReadonlyMap<string, number> {
    return this.poller.overrides.resetsOf(limiter);
  }

  async set(limiter: string, settings: LimiterSettings, note: OverrideNote): Promise<void> {
    await this.make(checkSet(limiter, settings, note));
  }

  async clear(
    limiter: string,
    note: ChangeNote,
    only?: readonly ClearableSetting[],
  ): Promise<void> {
    await this.make(checkClear(limiter, note, only));
  }

  block(limiter: string, key: string, note: OverrideNote): Promise<void> {
    return this.keyed(key, (named) => checkKeyRuling(limiter, named, 'block', note));
  }

  allow(limiter: string, key: string, note: OverrideNote): Promise<void> {
    return this.keyed(key, (named) => checkKeyRuling(limiter, named, 'allow', note));
  }

  limitKey(limiter: string, key: string, limits: LiveLimits, note: OverrideNote): Promise<void> {
    return this.keyed(key, (named) => checkKeyLimits(limiter, named, limits, note));
  }

  clearKey(
    limiter: string,
    key: string,
    note: ChangeNote,
    only?: readonly ClearableOfKey[],
  ): Promise<void> {
    return this.keyed(key, (named) => checkClearKey(limiter, named, note, only));
  }

  forget(limiter: string, key: string, note: ChangeNote): Promise<void> {
    return this.keyed(key, (named) => checkKeyRuling(limiter, named, 'reset', note));
  }

  async list(): Promise<readonly Override[]> {
    await this.poller.read();
    return this.poller.overrides.list();
  }

  async history(): Promise<readonly Change[]> {
    const entries = (await this.scripts.history()) as readonly unknown[];
    return entries.flatMap((entry) => decodeEntry(String(entry)) ?? []);
  }

  async limiters(): Promise<readonly KnownLimiter[]> {
    return decodeLimiters(await this.scripts.limiters());
  }

  refresh(within: Duration = '1s'): Promise<boolean> {
    return this.poller.refresh(toMicroseconds(within, 'within') / 1000);
  }

  close(): void {
    this.poller.close();
    this.announcer.close();
  }

  /** Makes a change about a key. Checked with the key first, because a hash is a good key always. */
  private async keyed(key: string, checked: (key: string) => CheckedChange): Promise<void> {
    checked(key);
    await this.make(checked(this.stored(key)));
  }

  private async make(change: CheckedChange): Promise<void> {
    const changed = await this.scripts.write(encodeChange(change));
    if (Number(changed) < 0) throw tooMany();
    // The change is made. If this read fails, the next look finds the change.
    await this.poller.read().catch(() => undefined);
  }
}
