/** Turns the limits that responses state into pauses of the shaper, which apply in all processes. */

import type { Clock } from '@spillway/core';
import { outside } from '@spillway/core/direct';
import type { WebResponse } from '@spillway/core/fetch';
import { after } from '@spillway/core/store';
import type { ScheduleOptions, Shaper } from '../shaper/contract.js';
import { CHECK_AHEAD_US, checkDurationUs } from '../shaper/pause-check-time.js';
import { Quota, type RoundTrip } from './quota.js';
import {
  type ResponseHeaders,
  readRemaining,
  retryAfterMs,
  safeHeaders,
} from './response-headers.js';

/** A pause that a response caused. */
export interface PauseEvent {
  /** The key that is paused. For a 503 this is the host, whatever the key of the call. */
  readonly key: string;
  readonly pauseMs: number;
  readonly status: number;
  /**
   * `retry-after`: a rejection that stated how long to wait · `quota`: headers that show too few remaining units ·
   * `unsaid`: a rejection that did not state how long to wait.
   */
  readonly cause: 'retry-after' | 'quota' | 'unsaid';
}

interface PausesOptions {
  readonly clock: Clock;
  readonly maxPauseMs: number;
  readonly jitter: number;
  readonly random: () => number;
  readonly withX: boolean;
  readonly onPause: (event: PauseEvent) => void;
  readonly onError: (error: unknown) => void;
}

type AnyShaper = Pick<
  Shaper,
  'name' | 'paceOf' | 'queueLength' | 'waitOf' | 'pauseOf' | 'pause' | 'runTask'
>;

interface KeyState {
  readonly quota: Quota;
  pausedUntilMs: number;
  untimedRejections: number;
}

/**
 * The pause after the first rejection that does not state how long to wait. Each further one in a row doubles the
 * pause.
 */
const FIRST_BACKOFF_MS = 1000;

/** Whether a response asks to call again later: a 429, a 503, or (from GitHub) a 403 with `Retry-After`. */
export function isRejection({ status, headers }: WebResponse): boolean {
  if (status === 403) return safeHeaders(headers).get('retry-after') !== null;
  return status === 429 || status === 503;
}

const MAX_PAUSE_MS = 86_400_000;

export class Pauses {
  private readonly keys = new LruMap<KeyState>(newKeyState);
  private readonly hostPauses: HostPauses;
  private readonly shaper: AnyShaper;
  private readonly options: PausesOptions;
  /**
   * The delay of the last pause for a spent quota: the time from the response until the pause was stored. Initially 0.
   */
  private pauseLagMs = 0;
  /** How long the store took to save the last pause; undefined until it has saved one. */
  private storeMs: number | undefined;

  constructor(shaper: AnyShaper, options: PausesOptions) {
    this.shaper = shaper;
    this.options = options;
    this.hostPauses = new HostPauses(shaper, () => this.nowMs(), options.onError);
  }

  nowMs(): number {
    return this.options.clock.nowUs() / 1000;
  }

  /**
   * Pauses the key if the response is a rejection or shows a spent quota. A 503 pauses the host instead. Never
   * rejects.
   */
  async handleResponse(
    key: string,
    host: string,
    response: WebResponse,
    trip: RoundTrip,
  ): Promise<void> {
    try {
      const { status } = response;
      const headers = safeHeaders(response.headers);
      const state = this.keys.get(key);
      if (status === 503) {
        await this.handleRejection(host, host, status, headers, trip);
      } else if (isRejection(response)) {
        state.quota.addRejection(trip);
        await this.handleRejection(key, host, status, headers, trip);
      } else {
        state.untimedRejections = 0;
        this.keys.get(host).untimedRejections = 0;
        await this.checkQuota(key, host, status, headers, trip);
      }
    } catch (error) {
      this.options.onError(error);
    }
  }

  /** Runs a call that may need several slots. A shaper that drains lets it finish. */
  runCall<Value>(run: (schedule: Shaper['schedule']) => Promise<Value>): Promise<Value> {
    return this.shaper.runTask(run);
  }

  /** Runs `work` in a slot of the key, once neither the key nor the host is paused. Rejects as `schedule` does. */
  async runInSlot<Value>(
    schedule: Shaper['schedule'],
    key: string,
    host: string,
    job: ScheduleOptions,
    work: () => Promise<Value>,
  ): Promise<Value> {
    const start = async (): Promise<Value | 'host-paused'> => {
      this.endPause(key);
      if (key !== host) {
        if (await this.hostPauses.copyTo(key, host)) return 'host-paused';
        this.endPause(host);
      }
      return work();
    };
    for (;;) {
      if (key !== host) void this.hostPauses.refresh(host);
      const result = await schedule(key, start, job);
      if (result !== 'host-paused') return result;
    }
  }

  /** Call this when a call starts, because an operator may have reset the key before its pause was over. */
  private endPause(key: string): void {
    const state = this.keys.get(key);
    state.pausedUntilMs = Math.min(state.pausedUntilMs, this.nowMs());
  }

  private async handleRejection(
    key: string,
    host: string,
    status: number,
    headers: ResponseHeaders,
    trip: RoundTrip,
  ): Promise<void> {
    const state = this.keys.get(key);
    const statedMs = retryAfterMs(headers, trip.endMs) ?? this.resetMs(headers, status, trip);
    if (statedMs !== undefined) {
      state.untimedRejections = 0;
      await this.pause(key, host, this.withJitter(key, statedMs), status, 'retry-after');
      return;
    }
    // Rejections of calls that were in flight together count as one.
    if (state.untimedRejections === 0 || trip.startMs >= state.pausedUntilMs) {
      state.untimedRejections += 1;
    }
    const backoffMs = FIRST_BACKOFF_MS * 2 ** (state.untimedRejections - 1);
    await this.pause(key, host, this.withJitter(key, backoffMs), status, 'unsaid');
  }

  /**
   * The time until the reset of the limit with the fewest units left. Undefined if no limit is stated, and for a 503,
   * because a 503 says nothing about a quota.
   */
  private resetMs(headers: ResponseHeaders, status: number, trip: RoundTrip): number | undefined {
    if (status === 503) return undefined;
    const remaining = readRemaining(headers, trip.endMs, this.options.withX);
    const fewest = Math.min(...remaining.map(({ units }) => units));
    const seconds = remaining.filter(({ units }) => units === fewest).map((one) => one.seconds);
    return seconds.length > 0 ? Math.max(...seconds) * 1000 : undefined;
  }

  private async checkQuota(
    key: string,
    host: string,
    status: number,
    headers: ResponseHeaders,
    trip: RoundTrip,
  ): Promise<void> {
    const { random, jitter, withX } = this.options;
    const { periodMs, maxConcurrent } = this.shaper.paceOf(key);
    const remaining = readRemaining(headers, trip.endMs, withX);
    const others = maxConcurrent - 1;
    const { quota } = this.keys.get(key);
    const spent = quota.update(remaining, trip, periodMs, this.propagationMs(), others);
    if (!spent) return;
    // If units remain, the quota counts as spent only because of calls that may be in flight. If no call waits, no
    // pause is needed.
    const isQueued = this.shaper.queueLength(key) > 0 || (await this.waitOf(key)) > 0;
    if (spent.units > 0 && !isQueued) return;
    // After the pause the shaper spaces the calls, so a jitter of one period is enough.
    const pauseMs = spent.pauseMs + jitter * random() * periodMs;
    const isStored = await this.pause(key, host, pauseMs, status, 'quota');
    if (isStored) this.pauseLagMs = this.nowMs() - trip.endMs;
  }

  private async waitOf(key: string): Promise<number> {
    try {
      return await this.shaper.waitOf(key);
    } catch (error) {
      this.options.onError(error);
      return 0;
    }
  }

  /**
   * How long it takes from a response until all processes know the pause that it causes. Until then, they may start
   * calls.
   */
  private propagationMs(): number {
    const { pauseLagMs, storeMs } = this;
    const checkUs = storeMs === undefined ? CHECK_AHEAD_US : checkDurationUs(storeMs * 1_000);
    return pauseLagMs + Math.min(CHECK_AHEAD_US, checkUs) / 1_000;
  }

  private withJitter(key: string, ms: number): number {
    const { random, jitter } = this.options;
    return Math.max(ms, this.shaper.paceOf(key).periodMs) * (1 + jitter * random());
  }

  /** Pauses the key in all processes, unless its current pause ends later. Returns whether the pause was stored. */
  private async pause(
    key: string,
    host: string,
    ms: number,
    status: number,
    cause: PauseEvent['cause'],
  ): Promise<boolean> {
    const state = this.keys.get(key);
    const { maxPauseMs, onPause, onError } = this.options;
    const { periodMs } = this.shaper.paceOf(key);
    const maxMs = Math.min(Math.max(maxPauseMs, periodMs), MAX_PAUSE_MS);
    const pauseMs = Math.ceil(Math.min(ms, maxMs));
    let startMs = this.nowMs();
    const untilMs = startMs + pauseMs;
    try {
      if (untilMs <= state.pausedUntilMs) {
        // Only the store knows whether the longer pause still holds, because an operator may have reset the key.
        const otherMs = await this.shaper.pauseOf(key);
        startMs = this.nowMs();
        if (startMs + otherMs >= untilMs) return false;
      }
      state.pausedUntilMs = startMs + pauseMs;
      if (key === host) this.hostPauses.notePause(host, state.pausedUntilMs);
      await this.shaper.pause(key, pauseMs, `response ${status} (${cause})`);
      this.storeMs = this.nowMs() - startMs;
      onPause({ key, pauseMs, status, cause });
      return true;
    } catch (error) {
      state.pausedUntilMs = 0;
      onError(error);
      return false;
    }
  }
}

function newKeyState(): KeyState {
  return { quota: new Quota(), pausedUntilMs: 0, untimedRejections: 0 };
}

interface HostState {
  askedMs: number;
  answered: Promise<void>;
  answerAskedMs: number;
  pausedUntilMs: number;
}

/** For this long, one answer of the store serves all calls to a host. */
const FRESH_MS = CHECK_AHEAD_US / 1_000;

/** A promise retains the async context in which it was made. So this one is made once, outside any request. */
const RESOLVED: Promise<void> = Promise.resolve();

/**
 * If the slot of a call comes before the store has answered, the call waits for the answer, for at most this part of a
 * period, and at most {@link FRESH_MS}.
 */
const PATIENCE = 1 / 4;

/**
 * Finds out whether hosts are paused, for calls whose key is not the host.
 *
 * If a call asked the store only when its slot has come, it would start late. So the store is asked while calls wait,
 * and for a short time one answer serves all calls to the host.
 */
class HostPauses {
  private readonly hosts: LruMap<HostState>;
  private readonly shaper: AnyShaper;
  private readonly nowMs: () => number;
  private readonly onError: (error: unknown) => void;

  constructor(shaper: AnyShaper, nowMs: () => number, onError: (error: unknown) => void) {
    this.shaper = shaper;
    this.nowMs = nowMs;
    this.onError = onError;
    this.hosts = new LruMap(() => ({
      askedMs: Number.NEGATIVE_INFINITY,
      answered: RESOLVED,
      answerAskedMs: Number.NEGATIVE_INFINITY,
      pausedUntilMs: 0,
    }));
  }

  /** Asks the store whether the host is paused, unless it was asked a moment ago. Never rejects. */
  refresh(host: string): Promise<void> {
    const state = this.hosts.get(host);
    const nowMs = this.nowMs();
    if (nowMs - state.askedMs >= FRESH_MS) {
      state.askedMs = nowMs;
      // Later calls share the promise, but must not share the async context of the first one.
      state.answered = outside(() => this.load(host, state, nowMs));
    }
    return state.answered;
  }

  /** Call this when this process pauses a host. Answers to earlier questions don't count any more. */
  notePause(host: string, untilMs: number): void {
    const state = this.hosts.get(host);
    state.answerAskedMs = this.nowMs();
    state.pausedUntilMs = Math.max(state.pausedUntilMs, untilMs);
  }

  /**
   * Pauses a key in all processes for as long as its host is paused. If the store fails, the shaper pauses the key in
   * this process. Returns whether the host is paused. Never rejects.
   */
  async copyTo(key: string, host: string): Promise<boolean> {
    const leftMs = await this.leftMs(key, host);
    if (leftMs <= 0) return false;
    try {
      await this.shaper.pause(key, Math.min(Math.ceil(leftMs), MAX_PAUSE_MS));
    } catch (error) {
      this.onError(error);
    }
    return true;
  }

  private async leftMs(key: string, host: string): Promise<number> {
    const patienceMs = Math.min(PATIENCE * this.shaper.paceOf(key).periodMs, FRESH_MS);
    await withTimeout(patienceMs, this.refresh(host));
    return this.hosts.get(host).pausedUntilMs - this.nowMs();
  }

  private async load(host: string, state: HostState, askedMs: number): Promise<void> {
    try {
      const pauseMs = await this.shaper.pauseOf(host);
      if (askedMs < state.answerAskedMs) return;
      state.answerAskedMs = askedMs;
      state.pausedUntilMs = this.nowMs() + pauseMs;
    } catch (error) {
      this.onError(error);
    }
  }
}

/** `within` would wait a turn of the event loop longer. */
function withTimeout(ms: number, promise: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const cancel = after(ms, resolve);
    void promise.then(() => {
      cancel();
      resolve();
    });
  });
}

const MAX_KEYS = 10_000;

class LruMap<Value> {
  private readonly values = new Map<string, Value>();
  private readonly makeValue: () => Value;

  constructor(makeValue: () => Value) {
    this.makeValue = makeValue;
  }

  get(key: string): Value {
    const value = this.values.get(key) ?? this.makeValue();
    this.values.delete(key);
    this.values.set(key, value);
    if (this.values.size > MAX_KEYS) {
      const [oldest] = this.values.keys();
      this.values.delete(oldest as string);
    }
    return value;
  }
}
