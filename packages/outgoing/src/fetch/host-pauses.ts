/**
 * Whether a host is paused, for calls whose slots are of keys of their own.
 *
 * A call that asked in its slot would start later than that, by as long as the store takes, and too close to the next
 * one. So it asks beside the wait for its slot, and one answer does for all calls to the host in the next moments. What
 * is asked in the slot is waited for only for a part of a period.
 */

import { outside } from '@spillway/core/direct';
import { after } from '@spillway/core/store';
import type { Shaper } from '../shaper/contract.js';
import { CHECK_AHEAD_US } from '../shaper/pause-check-time.js';
import { Recent } from './recent.js';

/** What is known of a host. */
interface Seen {
  /** When it was asked last, in milliseconds. */
  askedMs: number;
  /** Done once that was answered. */
  answer: Promise<void>;
  /** When the newest answer was asked. */
  seenMs: number;
  pausedUntilMs: number;
}

/** No shaper pauses for longer. */
export const LONGEST_MS = 86_400_000;

/** So long an answer is new enough: as long as the shaper takes one of the key itself for new enough. */
const FRESH_MS = CHECK_AHEAD_US / 1_000;

/** One for all hosts: a promise keeps the async context in which it was made. */
const NOT_ASKED: Promise<void> = Promise.resolve();

/** Of a period: how long a call that has its slot waits for an answer. */
const PATIENCE = 1 / 4;

export class HostPauses {
  private readonly hosts: Recent<Seen>;
  private readonly shaper: Shaper;
  private readonly nowMs: () => number;
  private readonly onError: (error: unknown) => void;

  /** @param onError told that the shaper could not tell */
  constructor(shaper: Shaper, nowMs: () => number, onError: (error: unknown) => void) {
    this.shaper = shaper;
    this.nowMs = nowMs;
    this.onError = onError;
    this.hosts = new Recent(() => ({
      askedMs: Number.NEGATIVE_INFINITY,
      answer: NOT_ASKED,
      seenMs: Number.NEGATIVE_INFINITY,
      pausedUntilMs: 0,
    }));
  }

  /** Asks, unless somebody did just now. Done when it is answered; never rejects. */
  ask(host: string): Promise<void> {
    const seen = this.hosts.of(host);
    const nowMs = this.nowMs();
    if (nowMs - seen.askedMs >= FRESH_MS) {
      seen.askedMs = nowMs;
      // It is kept for the calls that come next, and so must not be that of the first one's context.
      seen.answer = outside(() => this.look(host, seen, nowMs));
    }
    return seen.answer;
  }

  /**
   * Passes a pause of the host on to a key of its own, which then waits as long in all processes. Whether there is one.
   * Never rejects.
   *
   * @param ownMs how much longer this process has paused the host itself
   */
  async passOn(host: string, key: string, ownMs: number): Promise<boolean> {
    const leftMs = ownMs > 0 ? ownMs : await this.leftMs(host);
    if (leftMs <= 0) return false;
    try {
      await this.shaper.pause(key, Math.min(Math.ceil(leftMs), LONGEST_MS));
      return true;
    } catch (error) {
      this.onError(error);
      return false;
    }
  }

  private async leftMs(host: string): Promise<number> {
    const patienceMs = Math.min(PATIENCE * this.shaper.periodMs, FRESH_MS);
    await atMost(patienceMs, this.ask(host));
    return this.hosts.of(host).pausedUntilMs - this.nowMs();
  }

  private async look(host: string, seen: Seen, askedMs: number): Promise<void> {
    try {
      const pauseMs = await this.shaper.pauseOf(host);
      if (askedMs < seen.seenMs) return;
      seen.seenMs = askedMs;
      seen.pausedUntilMs = this.nowMs() + pauseMs;
    } catch (error) {
      this.onError(error);
    }
  }
}

/** Done when `promise` is, or after so many milliseconds. */
function atMost(ms: number, promise: Promise<void>): Promise<void> {
  return new Promise((done) => {
    const cancel = after(ms, done);
    void promise.then(() => {
      cancel();
      done();
    });
  });
}
