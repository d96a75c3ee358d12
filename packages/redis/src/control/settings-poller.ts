import { type Fault, SpillwayError } from '@spillway/core';
import { tellFault } from '@spillway/core/adapter';
import { ActiveOverrides } from '@spillway/core/control';
import { systemClock } from '@spillway/core/store';
import { ServerTime } from '../calls/server-time.js';
import { after, afterIdly, consoleLogger } from '../host.js';
import type { ControlScripts } from './control-scripts.js';
import type { Following } from './followers.js';
import { decodeOverride } from './records.js';

/**
 * After Redis has lost the settings, processes offer their copies for a restore. Redis keeps the copies for this long
 * after the last offer.
 */
const KEPT_MS = 7 * 86_400_000;

const RETRY_US = 10_000_000;

/** Longer timers fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The largest valid revision, as in the scripts. */
const MAX_REVISION = 9e15;

interface Settings {
  readonly revision: string;
  readonly dataSet: string;
  readonly fields: ReadonlyMap<string, string>;
}

/** The label of offered settings: `1 revision dataset`. */
const LABEL = /^1 (\d{1,16}) (\S{0,64})$/;

/** Polls, because some clients can't subscribe, and a subscriber misses changes while it is disconnected. */
export class SettingsPoller {
  readonly overrides: ActiveOverrides = new ActiveOverrides(() => this.nowMs());
  private readonly serverTime = new ServerTime();
  private readonly onFault: ((fault: Fault) => void) | undefined;
  private readonly scripts: ControlScripts;
  private readonly following: Following;
  private readonly onMissing: () => void;
  private readonly everyUs: number;
  private storedFields = new Map<string, string>();
  private revision = '';
  private dataSet = '';
  private lost = false;
  /** Dropped settings that Redis does not have yet for a restore. */
  private dropped: Settings | undefined;
  private nextOfferUs = -Infinity;
  private reads = 0;
  private applied = 0;
  private polling: Promise<boolean> | undefined;
  private nextUs = -Infinity;
  private isAway = false;
  private stopTimer: (() => void) | undefined;
  private closed = false;

  /** @param onMissing called after a poll that shows that Redis has probably lost all data; must not throw */
  constructor(
    scripts: ControlScripts,
    following: Following,
    onMissing: () => void,
    everyUs: number,
    onFault: ((fault: Fault) => void) | undefined,
  ) {
    this.scripts = scripts;
    this.following = following;
    this.onMissing = onMissing;
    this.everyUs = everyUs;
    this.onFault = onFault;
  }

  get isLost(): boolean {
    return this.lost;
  }

  /** Call this whenever the control is used, because on some hosts timers stop between requests. */
  keepUp(): void {
    if (this.closed) return;
    const nowUs = systemClock.nowUs();
    if (nowUs < this.nextUs) return;
    this.nextUs = nowUs + this.everyUs;
    this.poll();
    this.stopTimer?.();
    this.stopTimer = afterIdly(this.everyUs / 1000, this.tick);
  }

  start(): void {
    if (this.closed || this.stopTimer || this.nextUs !== -Infinity) return;
    try {
      this.stopTimer = afterIdly(0, this.tick);
    } catch {
      // Some hosts have no timers outside of a request. There, only `keepUp` polls.
    }
  }

  /** Reads even during a poll, because Redis may have answered that poll before the change that the caller expects. */
  refresh(withinMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const stop = after(Math.min(withinMs, MAX_TIMER_MS), () => resolve(false));
      void this.tryLoad().then((answered) => {
        stop();
        resolve(answered);
      });
    });
  }

  private poll(): void {
    this.polling ??= this.tryLoad().finally(() => {
      this.polling = undefined;
    });
  }

  private tryLoad(): Promise<boolean> {
    return this.loadSettings().then(
      () => true,
      () => false,
    );
  }

  async loadSettings(): Promise<void> {
    this.reads += 1;
    const turn = this.reads;
    const known = this.revision;
    try {
      const reply = (await this.scripts.readSettings(
        known,
        this.following.id,
      )) as readonly unknown[];
      this.isAway = false;
      this.serverTime.learn(Number(reply[0]), systemClock.nowUs());
      // A later read was answered first, and its reply is newer.
      if (turn < this.applied) return;
      this.applied = turn;
      const [revision, about] = [String(reply[1]), String(reply[2] ?? '')];
      const texts = reply.slice(4).map(String);
      if (revision === '0' && (Number(known) > 0 || LABEL.test(about))) {
        this.handleLoss(about, known, texts);
      } else {
        this.handleRevision(revision, about, known, texts);
      }
      if (this.dropped) void this.offer(this.dropped);
      if (this.following.isMissing(Number(reply[3]) === 1)) this.onMissing();
    } catch (error) {
      if (!this.isAway) this.reportFault(error);
      this.isAway = true;
      throw error;
    }
  }

  private handleRevision(
    revision: string,
    dataSet: string,
    known: string,
    texts: readonly string[],
  ): void {
    this.lost = false;
    if (revision === known) return;
    const isOther = dataSet !== this.dataSet && dataSet !== '' && this.dataSet !== '';
    if (isOther || Number(revision) < Number(this.revision)) {
      const had = this.overrides.list().length;
      this.keepDropped();
      this.warn(isOther ? otherSettings(had) : olderSettings(had));
    }
    this.dataSet = revision === '0' ? '' : dataSet;
    this.follow(revision, texts);
    this.following.follows(revision);
  }

  /**
   * Handles a reply of a Redis that has lost the settings. This process keeps its settings and offers them for a
   * restore. If another process has offered newer settings, this process follows those.
   */
  private handleLoss(label: string, known: string, texts: readonly string[]): void {
    const [, text = '0', dataSet = ''] = LABEL.exec(label) ?? [];
    const revision = Number(text) <= MAX_REVISION ? text : '0';
    const hadSettings = Number(this.revision) > 0;
    if (Number(revision) > Math.max(Number(known), Number(this.revision))) {
      this.dataSet = dataSet;
      this.follow(revision, texts);
      this.following.follows(revision);
    }
    // A process without settings must not warn. Otherwise each command of the command line would warn after a loss.
    if (!this.lost && hadSettings) this.warn(lostSettings(this.overrides.list().length));
    this.lost = true;
    if (Number(revision) < Number(this.revision)) void this.offer(this.current);
  }

  private get current(): Settings {
    return { revision: this.revision, dataSet: this.dataSet, fields: this.storedFields };
  }

  /** Keeps the settings until they are offered. Of several dropped settings, Redis stores only the newest. */
  private keepDropped(): void {
    if (Number(this.revision) < Number(this.dropped?.revision ?? 0)) return;
    this.dropped = this.current;
    this.nextOfferUs = -Infinity;
  }

  /**
   * Offers the settings for a restore. Redis is asked first whether it needs them, so if many processes have the same
   * settings, only the first few send them.
   */
  private async offer(settings: Settings): Promise<void> {
    const nowUs = systemClock.nowUs();
    if (nowUs < this.nextOfferUs) return;
    this.nextOfferUs = nowUs + RETRY_US;
    const args = [`${KEPT_MS}`, settings.revision, settings.dataSet];
    const fields = [...settings.fields].flat();
    try {
      const isWanted = Number(await this.scripts.storeLostSettings(args)) === 1;
      if (isWanted && fields.length > 0) await this.scripts.storeLostSettings([...args, ...fields]);
      this.nextOfferUs = -Infinity;
      if (this.dropped === settings) this.dropped = undefined;
    } catch (error) {
      this.reportFault(error);
    }
  }

  stopPolling(): void {
    this.closed = true;
    this.stopTimer?.();
  }

  private readonly tick = (): void => {
    this.stopTimer = undefined;
    // Without requests, a poll must not wait for a client that is not ready.
    if (this.nextUs === -Infinity && !this.scripts.isReady) {
      this.stopTimer = afterIdly(this.everyUs / 1000, this.tick);
      return;
    }
    this.nextUs = -Infinity;
    this.keepUp();
  };

  private follow(revision: string, texts: readonly string[]): void {
    const before = this.storedFields;
    this.revision = revision;
    this.storedFields = new Map();
    for (let i = 0; i < texts.length; i += 2) {
      this.storedFields.set(texts[i] as string, texts[i + 1] as string);
    }
    for (const field of before.keys())
      if (!this.storedFields.has(field)) this.overrides.remove(field);
    const errors: unknown[] = [];
    for (const [field, text] of this.storedFields) {
      if (before.get(field) === text) continue;
      this.overrides.remove(field);
      try {
        this.overrides.put(decodeOverride(field, text));
      } catch (error) {
        errors.push(error);
      }
    }
    // Several invalid settings are reported as one error, because a later release may have written thousands.
    if (errors.length > 0) this.reportFault(errors.length === 1 ? errors[0] : severalOf(errors));
  }

  private reportFault(error: unknown): void {
    tellFault(this.onFault, { limiter: '', source: 'control', error });
  }

  /** Warns even if an outage was logged a moment ago, because a loss of settings must not go unnoticed. */
  private warn(message: string): void {
    const error = new SpillwayError('SPW_SETTINGS_LOST', message);
    if (this.onFault) this.reportFault(error);
    else consoleLogger().warn(`Spillway: ${message}. See ${error.help}`);
  }

  /** The time by Redis's clock if known, because overrides must expire at the same time in all processes. */
  private nowMs(): number {
    const nowUs = systemClock.nowUs();
    return (this.serverTime.at(nowUs) || nowUs) / 1000;
  }
}

function lostSettings(count: number): string {
  return (
    `Redis has lost the live settings: it was flushed, or restarted or replaced without them. This process keeps ` +
    `its ${count}. spillway restore writes them back, spillway clear --all ends them`
  );
}

function olderSettings(count: number): string {
  return (
    `Redis has older live settings than this process had (${count}): probably a replica took over before it had ` +
    `them. This process follows the older ones. spillway restore writes the newer ones back`
  );
}

function otherSettings(count: number): string {
  return (
    `Redis has another set of live settings than before: probably its data were lost, and something was set since. ` +
    `This process follows it, and had ${count} before. spillway restore --force brings those back`
  );
}

function severalOf(errors: readonly unknown[]): Error {
  const [first] = errors;
  const message = first instanceof Error ? first.message : String(first);
  return new Error(`${errors.length} live settings are invalid and ignored. The first: ${message}`);
}
