import type {
  Change,
  ChangeNote,
  ClearableOfKey,
  ClearableSetting,
  Duration,
  KeyOverride,
  LimiterSettings,
  LiveLimits,
  Override,
  OverrideNote,
} from '@spillway/core';
import { tellFault } from '@spillway/core/adapter';
import {
  type CheckedChange,
  checkClear,
  checkClearKey,
  checkKeyLimits,
  checkKeyOverride,
  checkSet,
  liveControl,
  tooMany,
} from '@spillway/core/control';
import { durationBetween, MAX_LIMITERS, type Rule, toMicroseconds } from '@spillway/core/store';
import { Transport } from '../calls/transport.js';
import { checkRedisOptions } from '../check-options.js';
import { type AnyRedisClient, asRedisClient } from '../clients/as-redis-client.js';
import type { RedisClient } from '../clients/client.js';
import { keyHasher, prefixFrom } from '../codec/keys.js';
import { ControlScripts } from './control-scripts.js';
import { decodeFollowers, type Follower, Following } from './followers.js';
import { decodeLimiters, type KnownLimiter } from './known-limiter.js';
import { decodeEntry, encodeChange, encodeWrite } from './records.js';
import {
  CONTROL_OPTIONS,
  type RedisControl,
  type RedisControlOptions,
  type Restored,
} from './redis-control-options.js';
import { Announcer } from './registry.js';
import { SettingsPoller } from './settings-poller.js';

/**
 * Live settings for several processes, stored in Redis. Each process that has limiters under the control polls for
 * changes in the background, by default twice a second. While Redis does not answer, the last settings apply until they
 * expire.
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
 * await control.set('api', { mode: 'off' }, { by: 'ada', because: 'rejects paying customers', for: '10m' });
 * ```
 */
export function redisControl(
  client: AnyRedisClient,
  options: RedisControlOptions = {},
): RedisControl {
  return liveControl(new InRedis(asRedisClient(client), options));
}

/** Why nothing was restored, by the first number in the reply of control-write.lua. */
const REASONS: Readonly<Record<number, Restored['refused']>> = {
  [-2]: 'none-kept',
  [-3]: 'not-lost',
  [-4]: 'other-settings',
};

class InRedis implements RedisControl {
  private readonly scripts: ControlScripts;
  private readonly poller: SettingsPoller;
  private readonly stored: (key: string) => string;
  private readonly announced = new Map<string, Rule | undefined>();
  private readonly announcer: Announcer;
  private readonly following: Following;

  constructor(client: RedisClient, options: RedisControlOptions) {
    checkRedisOptions(options, 'redisControl()', CONTROL_OPTIONS);
    const { every = '500ms', hashKeys, onFault, prefix } = options;
    const everyUs = durationBetween('every', every, '50ms', '1m');
    this.scripts = new ControlScripts(new Transport(client), prefixFrom(prefix));
    this.stored = hashKeys === undefined ? (key) => key : memoizeLast(keyHasher(hashKeys));
    this.following = new Following(
      this.scripts,
      () => [...this.announced.keys()],
      (error) => this.announcer.trouble(error),
    );
    const onMissing = (): void => this.announcer.announceAgain();
    this.poller = new SettingsPoller(this.scripts, this.following, onMissing, everyUs, onFault);
    const announced = () =>
      [...this.announced].map(([name, rule]) => {
        return { name, rules: rule ? [rule] : [], isFollowed: true };
      });
    this.announcer = new Announcer(
      this.scripts,
      announced,
      (error) => tellFault(onFault, { limiter: '', source: 'control', error }),
      () => this.following.registerFollower(),
    );
  }

  register(limiter: string, rule?: Rule): void {
    if (this.announced.size >= MAX_LIMITERS && !this.announced.has(limiter)) return;
    this.announced.set(limiter, rule);
    this.announcer.changed();
    this.poller.start();
  }

  get settingsLost(): boolean {
    return this.poller.isLost;
  }

  settingsOf(limiter: string): LimiterSettings | undefined {
    this.poller.keepUp();
    this.announcer.keepUp();
    return this.poller.overrides.settingsOf(limiter);
  }

  overrideOf(limiter: string, key: string): KeyOverride | undefined {
    const { overrides } = this.poller;
    // Hashing a key is expensive, so a key is hashed only if settings for keys exist.
    return overrides.concernsKeys(limiter)
      ? overrides.overrideOf(limiter, this.stored(key))
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
    return this.keyed(key, (named) => checkKeyOverride(limiter, named, 'block', note));
  }

  allow(limiter: string, key: string, note: OverrideNote): Promise<void> {
    return this.keyed(key, (named) => checkKeyOverride(limiter, named, 'allow', note));
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
    return this.keyed(key, (named) => checkKeyOverride(limiter, named, 'reset', note));
  }

  async clearAll(note: ChangeNote): Promise<void> {
    await this.writeChange(encodeWrite(checkClear('*', note).note, 'clear', this.following.id));
  }

  async restore(note: ChangeNote, { force = false } = {}): Promise<Restored> {
    const checked = checkClear('*', note).note;
    const action = force ? 'force' : 'restore';
    const { changed, restored } = await this.writeChange(
      encodeWrite(checked, action, this.following.id),
    );
    return { restored, refused: REASONS[changed] ?? null };
  }

  async list(): Promise<readonly Override[]> {
    await this.poller.loadSettings();
    return this.poller.overrides.list();
  }

  async history(): Promise<readonly Change[]> {
    const entries = (await this.scripts.history()) as readonly unknown[];
    return entries.flatMap((entry) => decodeEntry(String(entry)) ?? []);
  }

  async limiters(): Promise<readonly KnownLimiter[]> {
    return decodeLimiters(await this.scripts.limiters());
  }

  async followers(): Promise<readonly Follower[]> {
    return decodeFollowers(await this.scripts.followers());
  }

  refresh(within: Duration = '1s'): Promise<boolean> {
    return this.poller.refresh(toMicroseconds(within, 'within') / 1000);
  }

  close(): void {
    this.poller.stopPolling();
    this.announcer.stopAnnouncing();
    this.following.stopFollowing();
  }

  /** Validates the key before it is hashed, because the hash of an invalid key would be valid. */
  private async keyed(key: string, checked: (key: string) => CheckedChange): Promise<void> {
    checked(key);
    await this.make(checked(this.stored(key)));
  }

  private async make(change: CheckedChange): Promise<void> {
    await this.writeChange(encodeChange(change, this.following.id));
  }

  /** If `changed` is negative, it says why nothing was restored. */
  private async writeChange(args: string[]): Promise<{ changed: number; restored: number }> {
    const [changed, restored] = (await this.scripts.writeSettings(args)) as readonly unknown[];
    if (Number(changed) === -1) throw tooMany();
    // The change is already made. If this read fails, the next poll reads it.
    await this.poller.loadSettings().catch(() => undefined);
    return { changed: Number(changed), restored: Number(restored) };
  }
}

/** Caches the last result, because a request hashes one key several times. */
function memoizeLast(hash: (key: string) => string): (key: string) => string {
  let last = '';
  let result = hash(last);
  return (key) => {
    if (key !== last) {
      last = key;
      result = hash(key);
    }
    return result;
  };
}
