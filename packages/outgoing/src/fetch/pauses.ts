/** Obeys the other side: turns what its answers say into pauses of the shaper, which hold for all processes. */

import type { Clock } from '@spillway/core';
import type { WebResponse } from '@spillway/core/fetch';
import type { Shaper } from '../shaper/contract.js';
import { CHECK_AHEAD_US, checkDurationUs } from '../shaper/pause-check-time.js';
import { type Fields, fieldsOf } from './answer-fields.js';
import { HostPauses, LONGEST_MS } from './host-pauses.js';
import { Quota, type Trip } from './quota.js';
import { readLeft } from './rate-limit-fields.js';
import { Recent } from './recent.js';
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
  /** A number from 0 to 1. Never throws. */
  readonly random: () => number;
  readonly withX: boolean;
  /** Never throws. */
  readonly onPause: (event: PauseEvent) => void;
  /** Told that the shaper could not pause. Never throws. */
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

/** The first wait after a refusal that gives no time. Each further one in a row is twice as long. */
const UNSAID_MS = 1000;

/** The pauses of one shaper, as this process knows them. */
export class Pauses {
  private readonly keys = new Recent<Known>(newKnown);
  private readonly hosts: HostPauses;
  private readonly shaper: Shaper;
  private readonly options: PausesOptions;
  /** From the last answer that led to a pause until that was stored, in milliseconds. */
  private lagMs = 0;
  /** How long the store took for it; undefined before the first. */
  private storeMs: number | undefined;

  constructor(shaper: Shaper, options: PausesOptions) {
    this.shaper = shaper;
    this.options = options;
    this.hosts = new HostPauses(shaper, () => this.nowMs(), options.onError);
  }

  /** Reads an answer, and pauses its key or its host if it says so. Never throws. */
  async obey(key: string, host: string, response: WebResponse, trip: Trip): Promise<void> {
    try {
      await this.read(key, host, response.status, fieldsOf(response.headers), trip);
    } catch (error) {
      this.options.onError(error);
    }
  }

  private async read(
    key: string,
    host: string,
    status: number,
    fields: Fields,
    trip: Trip,
  ): Promise<void> {
    const known = this.keys.of(key);
    if (status === 503) {
      await this.refused(host, status, fields, trip);
    } else if (status === 429) {
      known.quota.refused(trip);
      await this.refused(key, status, fields, trip);
    } else {
      known.unsaid = 0;
      this.keys.of(host).unsaid = 0;
      await this.look(key, known, status, fields, trip);
    }
  }

  nowMs(): number {
    return this.options.clock.nowUs() / 1000;
  }

  private async refused(key: string, status: number, fields: Fields, trip: Trip): Promise<void> {
    const known = this.keys.of(key);
    const saidMs = retryAfterMs(fields, trip.endMs) ?? this.leftMs(fields, status, trip);
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
  private leftMs(fields: Fields, status: number, trip: Trip): number | undefined {
    if (status === 503) return undefined;
    const left = readLeft(fields, trip.endMs, this.options.withX);
    const least = Math.min(...left.map(({ units }) => units));
    const seconds = left.filter(({ units }) => units === least).map((one) => one.seconds);
    return seconds.length > 0 ? Math.max(...seconds) * 1000 : undefined;
  }

  private async look(
    key: string,
    known: Known,
    status: number,
    fields: Fields,
    trip: Trip,
  ): Promise<void> {
    const { random, jitter, withX } = this.options;
    const { periodMs } = this.shaper;
    const left = readLeft(fields, trip.endMs, withX);
    const spent = known.quota.spentBy(left, trip, periodMs, this.deafMs());
    if (!spent) return;
    // What is left is for the calls on the wire, if there are any: who waits for nobody may be alone.
    if (spent.units > 0 && (await this.waitOf(key)) === 0) return;
    // The shaper spaces those who return, so they need not be spread over more than a period.
    const pauseMs = spent.pauseMs + jitter * random() * periodMs;
    const isSent = await this.pause(key, pauseMs, status, 'quota');
    if (isSent) this.lagMs = this.nowMs() - trip.endMs;
  }

  /** To be told of a call with a key of its own before it waits for its slot: see {@link HostPauses}. */
  expect(host: string): void {
    void this.hosts.ask(host);
  }

  /** See {@link HostPauses.passOn}. */
  passOn(host: string, key: string): Promise<boolean> {
    return this.hosts.passOn(host, key, this.keys.of(host).pausedUntilMs - this.nowMs());
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
    const aheadUs =
      storeMs === undefined
        ? CHECK_AHEAD_US
        : Math.min(CHECK_AHEAD_US, checkDurationUs(storeMs * 1_000));
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
    const known = this.keys.of(key);
    const { maxPauseMs, onPause, onError } = this.options;
    const mostMs = Math.min(Math.max(maxPauseMs, this.shaper.periodMs), LONGEST_MS);
    const pauseMs = Math.ceil(Math.min(ms, mostMs));
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
}

function newKnown(): Known {
  return { quota: new Quota(), pausedUntilMs: 0, unsaid: 0 };
}
