/** Writes into Redis which limiters a process has: soon after a new one, and again from time to time. */

import { systemClock } from '@spillway/core/store';
import { afterIdly } from '../host.js';
import { ANNOUNCED_EVERY_MS, type Announced, encodeAnnouncement } from './known-limiter.js';
import type { LimiterScripts } from './limiter-scripts.js';

/** Announcements within this time are sent together. A client that is not ready is tried again after it. */
const SOON_US = 1_000_000;

/** The pause after a failure, and between two lines about failures. */
const RETRY_US = 60_000_000;

/** Called, at most once a minute, with the error if Redis cannot store or read what is announced. */
type TellTrouble = (error: unknown) => void;

/** No request waits for it, and nothing fails if it fails. */
export class Announcer {
  private readonly scripts: LimiterScripts;
  private readonly limiters: () => readonly Announced[];
  private readonly tell: TellTrouble;
  private readonly beside: () => Promise<void>;
  private dueUs = Infinity;
  private sentUs = -Infinity;
  private toldUs = -Infinity;
  /** How many changes there were: an announcement may have been sent before the last one. */
  private changes = 0;
  private stopTimer: (() => void) | undefined;
  private closed = false;

  /** @param beside what else is to be noted as often. Must not reject */
  constructor(
    scripts: LimiterScripts,
    limiters: () => readonly Announced[],
    tell: TellTrouble,
    beside: () => Promise<void> = async () => undefined,
  ) {
    this.scripts = scripts;
    this.limiters = limiters;
    this.tell = tell;
    this.beside = beside;
  }

  /** There is something new. It is sent with the next request, or a second later. */
  changed(): void {
    this.changes += 1;
    this.dueUs = Math.min(this.dueUs, this.sentUs + SOON_US);
    this.later(SOON_US);
  }

  /** Redis has lost what was announced: it is announced again now, or when the client is ready. */
  again(): void {
    this.dueUs = -Infinity;
    this.keepUp();
  }

  /** Call it at each use. On hosts whose timers stop between requests, nothing else announces again. */
  keepUp(): void {
    if (this.dueUs === Infinity || this.closed) return;
    const nowUs = systemClock.nowUs();
    if (nowUs < this.dueUs) return;
    if (!this.scripts.isReady) {
      this.dueUs = nowUs + SOON_US;
      this.later(SOON_US);
      return;
    }
    this.sentUs = nowUs;
    // Set before the call, for on some hosts the call ends with the request that made it, and its result is lost.
    this.dueUs = nowUs + RETRY_US;
    this.later(RETRY_US);
    void this.send();
  }

  /** Something about announcements failed. */
  trouble(error: unknown): void {
    const nowUs = systemClock.nowUs();
    if (nowUs - this.toldUs < RETRY_US) return;
    this.toldUs = nowUs;
    this.tell(error);
  }

  close(): void {
    this.closed = true;
    this.stopTimer?.();
  }

  private async send(): Promise<void> {
    const { changes } = this;
    try {
      const announced = this.scripts.announce(encodeAnnouncement(this.limiters()));
      const [refused] = await Promise.all([announced, this.beside()]);
      if (Number(refused) > 0) this.trouble(new Error(`${refused} limiters found no room`));
      if (this.changes !== changes) return;
      this.dueUs = this.sentUs + ANNOUNCED_EVERY_MS * 1000;
      this.later(ANNOUNCED_EVERY_MS * 1000);
    } catch (error) {
      this.trouble(error);
    }
  }

  private later(us: number): void {
    this.stopTimer?.();
    this.stopTimer = undefined;
    if (this.closed) return;
    try {
      this.stopTimer = afterIdly(us / 1000, this.tick);
    } catch {
      // Some hosts have no timers outside of a request. There only requests keep it going.
    }
  }

  private readonly tick = (): void => {
    this.stopTimer = undefined;
    this.dueUs = Math.min(this.dueUs, systemClock.nowUs());
    this.keepUp();
  };
}
