/** Announces the limiters of this process in Redis: soon after a new one, then periodically. */

import { systemClock } from '@spillway/core/store';
import { afterIdly } from '../host.js';
import { ANNOUNCED_EVERY_MS, type Announced, encodeAnnouncement } from './known-limiter.js';
import type { LimiterScripts } from './limiter-scripts.js';

/** Announcements within this time are batched. It is also the retry delay while the client is not ready. */
const SOON_US = 1_000_000;

/** The retry delay after a failure, and the minimum time between two reports of failures. */
const RETRY_US = 60_000_000;

/** Called, at most once a minute, with the error if Redis cannot store or read announcements. */
type TellTrouble = (error: unknown) => void;

/** Requests neither wait for announcements nor fail with them. */
export class Announcer {
  private readonly scripts: LimiterScripts;
  private readonly limiters: () => readonly Announced[];
  private readonly tell: TellTrouble;
  private readonly beside: () => Promise<void>;
  private dueUs = Infinity;
  private sentUs = -Infinity;
  private reportedUs = -Infinity;
  /** Counts changes: an announcement may have been sent before the last one. */
  private changes = 0;
  private stopTimer: (() => void) | undefined;
  private closed = false;

  /** @param beside other work to do at each announcement. Must not reject */
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

  /** Call when there is something new to announce. It is sent with the next request, or a second later. */
  changed(): void {
    this.changes += 1;
    this.dueUs = Math.min(this.dueUs, this.sentUs + SOON_US);
    this.later(SOON_US);
  }

  /** Call when Redis has lost the announcements. They are repeated now, or when the client is ready. */
  again(): void {
    this.dueUs = -Infinity;
    this.keepUp();
  }

  /** Call at each use. On hosts whose timers stop between requests, nothing else repeats announcements. */
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
    // Set before the call, because on some hosts the call ends with the request that made it.
    this.dueUs = nowUs + RETRY_US;
    this.later(RETRY_US);
    void this.sendAnnouncement();
  }

  /** Reports a failure of announcements. */
  trouble(error: unknown): void {
    const nowUs = systemClock.nowUs();
    if (nowUs - this.reportedUs < RETRY_US) return;
    this.reportedUs = nowUs;
    this.tell(error);
  }

  stopAnnouncing(): void {
    this.closed = true;
    this.stopTimer?.();
  }

  private async sendAnnouncement(): Promise<void> {
    const { changes } = this;
    try {
      const announced = this.scripts.announce(encodeAnnouncement(this.limiters()));
      const [refused] = await Promise.all([announced, this.beside()]);
      if (Number(refused) > 0)
        this.trouble(
          new Error(
            `${refused} limiters could not be stored: the list is full, or of a later release`,
          ),
        );
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
      // Some hosts have no timers outside of a request. There, only requests drive it.
    }
  }

  private readonly tick = (): void => {
    this.stopTimer = undefined;
    this.dueUs = Math.min(this.dueUs, systemClock.nowUs());
    this.keepUp();
  };
}
