/** Obeys the other side: turns what its answers say into pauses of the shaper, which hold for all processes. */

import type { Clock } from '../base/clock.js';
import { AHEAD_US, shortAheadUs } from '../contract/look-ahead.js';
import type { Shaper } from '../contract/shaper.js';
import type { WebResponse } from '../fetch/web.js';
import { Quota, type Trip } from './quota.js';
import { readLeft } from './rate-limit-fields.js';
import { retryAfterMs } from './retry-after.js';

/** A pause that an answer led to. */
export interface PauseEvent {
  /** Whose calls wait: the key, or for a 503 the host. */
  readonly key: string;
  /** How long, in milliseconds. */
  readonly pauseMs: number;
  /** The status of the answer. */
  readonly status: number;
  /**
   * `retry-after`: the answer said how long · `quota`: its `RateLimit` fields say that nothing is left · `unsaid`: it
   * refused without a time.
   */
  readonly cause: 'retry-after' | 'quota' | 'unsaid';
}

/** What {@link Pauses} needs to know. */
interface PausesOptions {
  readonly clock: Clock;
  readonly maxPauseMs: number;
  readonly jitter: number;
  readonly random: () => number;
  readonly withX: boolean;
  readonly onPause: (event: PauseEvent) => void;
  /** Told that the shaper could not pause. */
  readonly onError: (error: unknown) => void;
}

/** What is known of a key. */
interface Known {
  readonly quota: Quota;
  /** Until when this process has paused it. */
  pausedUntilMs: number;
  /** Refusals in a row that gave no time. */
  unsaid: number;
}

/** Keys of which something is known; the ones that were not used for the longest time are forgotten. */
const MAX_KEYS = 10_000;

/** The first wait after a refusal that gives no time. Each further one in a row is twice as long. */
const UNSAID_MS = 1000;

/** The pauses of one shaper, as this process knows them. */
export class Pauses {
  private readonly keys = new Map<string, Known>();
  private readonly shaper: Shaper;
  private readonly options: PausesOptions;
  /** From the last answer that led to a pause until that was stored, in milliseconds. */
  private lagMs = 0;
  /** How long the store took for it; undefined before the first. */
  private storeMs: number | undefined;

  constructor(shaper: Shaper, options: PausesOptions) {
    this.shaper = shaper;
    this.options = options;
  }

  /** Reads an answer, and pauses its key or its host if it says so. Never throws. */
  async obey(key: string, host: string, response: WebResponse, trip: Trip): Promise<void> {
    const { status } = response;
    const known = this.known(key);
    if (status === 503) {
      await this.refused(host, response, trip);
    } else if (status === 429) {
      known.quota.refused(trip);
      await this.refused(key, response, trip);
    } else {
      known.unsaid = 0;
      this.known(host).unsaid = 0;
      await this.look(key, known, response, trip);
    }
  }

  nowMs(): number {
    return this.options.clock.nowUs() / 1000;
  }

  private async refused(key: string, { status, headers }: WebResponse, trip: Trip): Promise<void> {
    const known = this.known(key);
    const saidMs = retryAfterMs(headers, trip.endMs) ?? this.leftMs(headers, status, trip);
    if (saidMs !== undefined) {
      known.unsaid = 0;
      await this.pause(key, this.spread(saidMs), status, 'retry-after');
      return;
    }
    // Calls that were on the wire together are refused together: they count as one.
    if (known.unsaid === 0 || trip.startMs >= known.pausedUntilMs) known.unsaid += 1;
    const waitMs = UNSAID_MS * 2 ** (known.unsaid - 1);
    await this.pause(key, this.spread(waitMs), status, 'unsaid');
  }

  /** Of a 429, the time of the limit of which the least is left. A 503 is not about a quota. */
  private leftMs(headers: WebResponse['headers'], status: number, trip: Trip): number | undefined {
    if (status === 503) return undefined;
    const left = readLeft(headers, trip.endMs, this.options.withX);
    const least = Math.min(...left.map(({ units }) => units));
    const seconds = left.filter(({ units }) => units === least).map((one) => one.seconds);
    return seconds.length > 0 ? Math.max(...seconds) * 1000 : undefined;
  }

  private async look(key: string, known: Known, response: WebResponse, trip: Trip): Promise<void> {
    const { random, jitter, withX } = this.options;
    const { periodMs } = this.shaper;
    const left = readLeft(response.headers, trip.endMs, withX);
    const spent = known.quota.spentBy(left, trip, periodMs, this.deafMs());
    if (!spent) return;
    // What is left is for the calls on the wire, if there are any: who waits for nobody may be alone.
    if (spent.units > 0 && (await this.waitOf(key)) === 0) return;
    // The shaper spaces those who return, so they need not be spread over more than a period.
    const pauseMs = spent.pauseMs + jitter * random() * periodMs;
    const isSent = await this.pause(key, pauseMs, response.status, 'quota');
    if (isSent) this.lagMs = this.nowMs() - trip.endMs;
  }

  /**
   * Passes a pause of the host on to a key of its own, which then waits as long in all processes. Whether there is one.
   * Never rejects.
   */
  async passOn(host: string, key: string): Promise<boolean> {
    const waitMs = await this.waitOf(host);
    if (waitMs <= 0) return false;
    try {
      await this.shaper.pause(key, Math.ceil(waitMs));
      return true;
    } catch (error) {
      this.options.onError(error);
      return false;
    }
  }

  /** How long a key waits; 0 if the shaper cannot tell. */
  private async waitOf(key: string): Promise<number> {
    try {
      return await this.shaper.waitOf(key);
    } catch (error) {
      this.options.onError(error);
      return 0;
    }
  }

  /** How long after an answer that leads to a pause calls may still start, which have not heard of it. */
  private deafMs(): number {
    const { lagMs, storeMs } = this;
    const aheadUs = storeMs === undefined ? AHEAD_US : shortAheadUs(storeMs * 1_000);
    return lagMs + aheadUs / 1_000;
  }

  private spread(ms: number): number {
    const { random, jitter } = this.options;
    return Math.max(ms, this.shaper.periodMs) * (1 + jitter * random());
  }

  /** Whether a pause was sent: not one that ends before one that is known. */
  private async pause(
    key: string,
    ms: number,
    status: number,
    cause: PauseEvent['cause'],
  ): Promise<boolean> {
    const known = this.known(key);
    const { maxPauseMs, onPause, onError } = this.options;
    const pauseMs = Math.ceil(Math.min(ms, Math.max(maxPauseMs, this.shaper.periodMs)));
    const startMs = this.nowMs();
    if (startMs + pauseMs <= known.pausedUntilMs) return false;
    known.pausedUntilMs = startMs + pauseMs;
    try {
      await this.shaper.pause(key, pauseMs);
      this.storeMs = this.nowMs() - startMs;
      onPause({ key, pauseMs, status, cause });
      return true;
    } catch (error) {
      known.pausedUntilMs = 0;
      onError(error);
      return false;
    }
  }

  private known(key: string): Known {
    const known = this.keys.get(key) ?? { quota: new Quota(), pausedUntilMs: 0, unsaid: 0 };
    this.keys.delete(key);
    this.keys.set(key, known);
    if (this.keys.size > MAX_KEYS) {
      const [oldest] = this.keys.keys();
      this.keys.delete(oldest as string);
    }
    return known;
  }
}
