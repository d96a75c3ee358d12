/** Keeps this process's copy of the settings in Redis up to date. */

import type { Fault } from '@spillway/core';
import { tellFault } from '@spillway/core/adapter';
import { ActiveOverrides } from '@spillway/core/control';
import { systemClock } from '@spillway/core/store';
import { ServerTime } from '../calls/server-time.js';
import { after, afterIdly } from '../host.js';
import { decodeOverride } from './records.js';

/** The reply of control-read.lua. */
type Read = (knownRevision: string) => Promise<unknown>;

export class SettingsPoller {
  readonly overrides: ActiveOverrides = new ActiveOverrides(() => this.nowMs());
  private readonly serverTime = new ServerTime();
  private readonly onFault: ((fault: Fault) => void) | undefined;
  private readonly readRedis: Read;
  private readonly everyUs: number;
  private readonly onFollow: (revision: string) => void;
  /** The fields of the known revision, as they are stored. */
  private stored = new Map<string, string>();
  private revision = '';
  private reads = 0;
  private applied = 0;
  private looking: Promise<boolean> | undefined;
  private nextUs = -Infinity;
  private isAway = false;
  private stopTimer: (() => void) | undefined;
  private closed = false;

  /** @param onFollow called with each revision that this process follows from then on. Must not throw */
  constructor(
    readRedis: Read,
    everyUs: number,
    onFault: ((fault: Fault) => void) | undefined,
    onFollow: (revision: string) => void,
  ) {
    this.readRedis = readRedis;
    this.everyUs = everyUs;
    this.onFault = onFault;
    this.onFollow = onFollow;
  }

  /** Call it at each use: it looks for changes when it is time, also on hosts whose timers stop between requests. */
  keepUp(): void {
    if (this.closed) return;
    const nowUs = systemClock.nowUs();
    if (nowUs < this.nextUs) return;
    this.nextUs = nowUs + this.everyUs;
    void this.look();
    this.stopTimer?.();
    this.stopTimer = afterIdly(this.everyUs / 1000, this.tick);
  }

  /** Looks for changes. Resolves to whether Redis answered within `withinMs`. */
  refresh(withinMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const stop = after(withinMs, () => resolve(false));
      void this.look().then((answered) => {
        stop();
        resolve(answered);
      });
    });
  }

  /** Calls at the same time share one look. */
  private look(): Promise<boolean> {
    this.looking ??= this.read()
      .then(
        () => true,
        () => false,
      )
      .finally(() => {
        this.looking = undefined;
      });
    return this.looking;
  }

  /** @throws SpillwayError `SPW_STORE_UNAVAILABLE`, `SPW_STORE_TIMEOUT`, `SPW_STORE_ERROR` */
  async read(): Promise<void> {
    this.reads += 1;
    const turn = this.reads;
    const known = this.revision;
    try {
      const reply = (await this.readRedis(known)) as readonly unknown[];
      this.isAway = false;
      this.serverTime.learn(Number(reply[0]), systemClock.nowUs());
      // A later read has been answered before this one, and its reply is newer.
      if (turn < this.applied) return;
      this.applied = turn;
      // Nothing has changed.
      if (String(reply[1]) === known) return;
      this.follow(String(reply[1]), reply.slice(2).map(String));
      this.onFollow(this.revision);
    } catch (error) {
      if (!this.isAway) this.tell(error);
      this.isAway = true;
      throw error;
    }
  }

  close(): void {
    this.closed = true;
    this.stopTimer?.();
  }

  private readonly tick = (): void => {
    this.nextUs = -Infinity;
    this.keepUp();
  };

  private follow(revision: string, texts: readonly string[]): void {
    const before = this.stored;
    this.revision = revision;
    this.stored = new Map();
    for (let i = 0; i < texts.length; i += 2) {
      this.stored.set(texts[i] as string, texts[i + 1] as string);
    }
    for (const field of before.keys()) if (!this.stored.has(field)) this.overrides.remove(field);
    const errors: unknown[] = [];
    for (const [field, text] of this.stored) {
      // An unchanged setting keeps its object.
      if (before.get(field) === text) continue;
      this.overrides.remove(field);
      try {
        this.overrides.put(decodeOverride(field, text));
      } catch (error) {
        errors.push(error);
      }
    }
    // A setting that is not valid counts as not set. Thousands of a later release are told as one.
    if (errors.length > 0) this.tell(errors.length === 1 ? errors[0] : severalOf(errors));
  }

  private tell(error: unknown): void {
    tellFault(this.onFault, { limiter: '', source: 'control', error });
  }

  /** The time by Redis's clock, as far as it is known: that clock says for all processes when overrides end. */
  private nowMs(): number {
    const nowUs = systemClock.nowUs();
    return (this.serverTime.at(nowUs) || nowUs) / 1000;
  }
}

function severalOf(errors: readonly unknown[]): Error {
  const [first] = errors;
  const message = first instanceof Error ? first.message : String(first);
  return new Error(`${errors.length} live settings are not obeyed. Of the first: ${message}`);
}
