/** Writes into Redis which limiters a process has: soon after it has another, and again and again while it lives. */

import { systemClock } from '@spillway/core/store';
import { afterIdly } from '../host.js';
import { ANNOUNCED_EVERY_MS, type Announced, encodeAnnouncement } from './known-limiter.js';
import type { Scripts } from './scripts.js';

/** What comes within this time goes together, and a client that is not ready is looked at again. */
const SOON_US = 1_000_000;

/** After a failure, and between two lines about failures. */
const RETRY_US = 60_000_000;

/** Where it is told, at most once a minute, that Redis does not take or tell what is announced. */
type TellTrouble = (error: unknown) => void;

/** No request ever waits for it, and nothing fails with it. */
export class Announcer {
  private readonly scripts: Scripts;
  private readonly limiters: () => readonly Announced[];
  private readonly tell: TellTrouble;
  private dueUs = Infinity;
  private sentUs = -Infinity;
  private toldUs = -Infinity;
  /** How many changes there were: what was sent may be of before the last one. */
  private changes = 0;
  private stopTimer: (() => void) | undefined;
  private closed = false;

  constructor(scripts: Scripts, limiters: () => readonly Announced[], tell: TellTrouble) {
    this.scripts = scripts;
    this.limiters = limiters;
    this.tell = tell;
  }

  /** There is something new: it goes with the next request, or by itself a second later. */
  changed(): void {
    this.changes += 1;
    this.dueUs = Math.min(this.dueUs, this.sentUs + SOON_US);
    this.later(SOON_US);
  }

  /** To be called at each use: where timers rest between requests, nothing else would announce again. */
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
    // Unless it succeeds: on some hosts a call ends with the request beside which it was made, and nobody hears of it.
    this.dueUs = nowUs + RETRY_US;
    this.later(RETRY_US);
    void this.send();
  }

  /** Something about what is announced went wrong. */
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
      const refused = await this.scripts.announce(encodeAnnouncement(this.limiters()));
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
      // Outside of a request, some hosts lend no timers: then requests alone keep it up.
    }
  }

  private readonly tick = (): void => {
    this.stopTimer = undefined;
    this.dueUs = Math.min(this.dueUs, systemClock.nowUs());
    this.keepUp();
  };
}
