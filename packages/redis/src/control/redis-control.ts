/** The control of a fleet, in Redis. */

import type {
  Change,
  ChangeNote,
  ClearableSetting,
  Control,
  Duration,
  Fault,
  KeyRuling,
  LimiterSettings,
  Override,
  OverrideNote,
} from '@spillway/core';
import { tellFault } from '@spillway/core/adapter';
import {
  type CheckedChange,
  checkClear,
  checkKeyRuling,
  checkSet,
  tooMany,
} from '@spillway/core/control';
import { durationBetween, MAX_LIMITERS, type Rule, toMicroseconds } from '@spillway/core/store';
import { asRedisClient } from '../clients/as-redis-client.js';
import type { RedisClient } from '../clients/client.js';
import type { IoredisClient } from '../clients/ioredis.js';
import { keyHasher } from '../codec/keys.js';
import { Announcer } from './announcer.js';
import { decodeLimiters, type KnownLimiter } from './known-limiter.js';
import { decodeEntry, encodeChange } from './records.js';
import { Scripts } from './scripts.js';
import { SettingsPoller } from './settings-poller.js';

/** All optional. */
export interface RedisControlOptions {
  /**
   * How often each process looks for changes, 50 ms to 1 min: a change holds everywhere so much later at most. Default
   * `'500ms'`.
   */
  readonly every?: Duration | undefined;
  /** The store's own `hashKeys`: then keys that are ruled on are not stored as they are either. */
  readonly hashKeys?: string | Uint8Array | undefined;
  /** Told once when Redis does not answer, and of each value in it that cannot be obeyed. */
  readonly onFault?: ((fault: Fault) => void) | undefined;
}

/**
 * What {@link redisControl} returns: the methods of `memoryControl`, each done when Redis has it and this process
 * follows it.
 * They reject with `SPW_STORE_UNAVAILABLE`, `SPW_STORE_TIMEOUT` (the change may have been made) or `SPW_STORE_ERROR`.
 */
export interface RedisControl extends Control {
  /**
   * Sets mode, share or limits of a limiter; what is not named stays as it is. `*`: of all that have none of their own.
   */
  set(limiter: string, settings: LimiterSettings, note: OverrideNote): Promise<void>;
  /** Ends what was set for a limiter, all of it or `only` some: it is as declared again. Rulings on keys stay. */
  clear(limiter: string, note: ChangeNote, only?: readonly ClearableSetting[]): Promise<void>;
  /** Refuses a key, as the limiter counts it (an address is `@` and its canonical text). */
  block(limiter: string, key: string, note: OverrideNote): Promise<void>;
  /** Lets a key pass without the limiter seeing it. */
  allow(limiter: string, key: string, note: OverrideNote): Promise<void>;
  /** Ends what was ruled on a key. */
  clearKey(limiter: string, key: string, note: ChangeNote): Promise<void>;
  /** Has every guard of the fleet forget that the key was refused: for whoever resets its count in the store. */
  forget(limiter: string, key: string, note: ChangeNote): Promise<void>;
  /** What is set now, latest first. */
  list(): Promise<readonly Override[]>;
  /** The latest 1,000 changes, latest first. That an override has ended is no change: the entry says when it will. */
  history(): Promise<readonly Change[]>;
  /**
   * The limiters that processes have announced, by name. Each is announced when it is made and every five minutes, and
   * known for ten minutes after the last time, or for longer if its counts take longer to come to rest.
   */
  limiters(): Promise<readonly KnownLimiter[]>;
  /**
   * Looks for changes now, at the start of a process for instance, and waits for the answer so long at most: 1 s unless
   * told otherwise. Never rejects; false if Redis did not answer in time. What it answers later is followed all the
   * same.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID`
   */
  refresh(within?: Duration): Promise<boolean>;
  /** Looks for no more changes; what is set now stays until it ends. The client stays yours. */
  close(): void;
}

/**
 * Live settings of a fleet, kept in Redis: every process looks for changes in the background, twice a second, from its
 * first request on. No request waits for it. While Redis is away the last settings hold, and end when they should.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
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
  client: IoredisClient | RedisClient,
  options: RedisControlOptions = {},
): RedisControl {
  return new InRedis(asRedisClient(client), options);
}

class InRedis implements RedisControl {
  private readonly scripts: Scripts;
  private readonly follower: SettingsPoller;
  private readonly stored: (key: string) => string;
  private readonly announced = new Map<string, Rule | undefined>();
  private readonly announcer: Announcer;

  constructor(client: RedisClient, { every = '500ms', hashKeys, onFault }: RedisControlOptions) {
    const everyUs = durationBetween('every', every, '50ms', '1m');
    this.scripts = new Scripts(client);
    this.stored = hashKeys === undefined ? (key) => key : keyHasher(hashKeys);
    this.follower = new SettingsPoller((known) => this.scripts.read(known), everyUs, onFault);
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
    this.follower.keepUp();
    this.announcer.keepUp();
    return this.follower.board.settingsOf(limiter);
  }

  rulingOn(limiter: string, key: string): KeyRuling | undefined {
    const { board } = this.follower;
    // To hash a key costs more than all the rest.
    return board.rules(limiter) ? board.rulingOn(limiter, this.stored(key)) : undefined;
  }

  resetsOf(limiter: string): ReadonlyMap<string, number> {
    return this.follower.board.resetsOf(limiter);
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
    return this.rule(limiter, key, 'block', note);
  }

  allow(limiter: string, key: string, note: OverrideNote): Promise<void> {
    return this.rule(limiter, key, 'allow', note);
  }

  clearKey(limiter: string, key: string, note: ChangeNote): Promise<void> {
    return this.rule(limiter, key, null, note);
  }

  forget(limiter: string, key: string, note: ChangeNote): Promise<void> {
    return this.rule(limiter, key, 'reset', note);
  }

  async list(): Promise<readonly Override[]> {
    await this.follower.read();
    return this.follower.board.list();
  }

  async history(): Promise<readonly Change[]> {
    const entries = (await this.scripts.history()) as readonly unknown[];
    return entries.flatMap((entry) => decodeEntry(String(entry)) ?? []);
  }

  async limiters(): Promise<readonly KnownLimiter[]> {
    return decodeLimiters(await this.scripts.limiters());
  }

  refresh(within: Duration = '1s'): Promise<boolean> {
    return this.follower.refresh(toMicroseconds(within, 'within') / 1000);
  }

  close(): void {
    this.follower.close();
    this.announcer.close();
  }

  private async rule(
    limiter: string,
    key: string,
    value: 'allow' | 'block' | 'reset' | null,
    note: OverrideNote,
  ): Promise<void> {
    checkKeyRuling(limiter, key, value, note);
    await this.make(checkKeyRuling(limiter, this.stored(key), value, note));
  }

  private async make(change: CheckedChange): Promise<void> {
    const changed = await this.scripts.write(encodeChange(change));
    if (Number(changed) < 0) throw tooMany();
    // Done is done: if this fails, the next look will tell.
    await this.follower.read().catch(() => undefined);
  }
}
