/** A shaper: lets work start at a pace, by key, over all processes that share its store. */

import type { CostOptions, Duration, Reason } from '@spillway/core';
import { mustBe } from '@spillway/core/adapter';
import { checkCallback, checkKey, DirectClient, Turns } from '@spillway/core/direct';
import { durationBetween, MAX_STEPS, type QueueRule, tooLarge } from '@spillway/core/store';
import type {
  HostSignal,
  Reservation,
  ScheduleOptions,
  Shaper,
  Unreserved,
  WaitOptions,
} from './contract.js';
import { Job, type Work } from './job.js';
import { costIn, jobOptions, priorityIn } from './job-options.js';
import type { KeyQueue, KeyQueueHost } from './key-queue.js';
import { LivePace } from './live-pace.js';
import { numbersOf, type ShaperOptions, type ShaperSettings } from './options.js';
import { Queues } from './queues.js';
import { blocked, closed, full, noAnswer, waitedTooLong, waitTooLong } from './refusals.js';
import { Reservations } from './reservations.js';
import { type Heard, type Slot, Slots } from './slots.js';
import { Told } from './told.js';

/**
 * Makes a shaper: lets work start at a pace, by key, over all processes that share its store. 4 per second start every
 * 250 ms: what comes too early is not refused but waits for its slot, at most `maxWait`.
 *
 * - `schedule` waits, runs the work and settles as it does. A job that waits keeps the process alive. Jobs of a key
 *   start by priority, then first come, as long as each that was accepted still starts within `maxWait`. Where a pause
 *   or an outage prevents that, it is rejected with `SPW_SHAPER_WAIT`. A job that is aborted settles at once, and the
 *   next job has its slot.
 * - `reserve` tells when to start and leaves the rest to you; `reserveFirst` takes the first of several keys whose wait
 *   is at most `maxWait`. A refusal takes nothing.
 * - `pause` holds back all starts of a key in every process: who waits looks at most 50 ms before its start,
 *   earlier where the store takes longer than 24 ms to answer.
 *
 * A start falls on its slot by the store's clock, whenever the answer came, and never before it. If this process stood
 * still and missed a slot by more than one period, or 50 ms if that is longer, the job gets another slot. The work
 * starts after the call of `schedule` has returned, and runs in the async context of that call.
 *
 * When the store does not answer, this process keeps `localShare` of the pace; when it is back, what waits gets slots
 * of the store. A pause of which it could not be told holds for jobs that wait here, and rejects; while it lasts, the
 * store is told again.
 *
 * Observers are told of each job when it starts or is refused, and of each reservation. What is aborted, or refused
 * because the shaper was closed, is no decision.
 *
 * The functions return promises, which reject for mistakes: a key that is no text of 1 to 8,192 UTF-16 units
 * (`SPW_KEY_INVALID`), a cost that is no integer from 1 to the burst (`SPW_COST_INVALID`), more than 1,000 keys
 * (`SPW_GROUP_TOO_LARGE`). `schedule` rejects with `SPW_SHAPER_WAIT`, `SPW_SHAPER_FULL`, `SPW_SHAPER_BLOCKED` and
 * `SPW_SHAPER_CLOSED`, with `SPW_STORE_UNAVAILABLE` if the store does not answer and `onStoreError` is `deny`, and with
 * the reason of its signal.
 *
 * @throws SpillwayError `SPW_LIMIT_INVALID`, `SPW_WINDOW_INVALID`, `SPW_BURST_INVALID`, `SPW_NAME_INVALID`,
 * `SPW_NAME_REQUIRED`, `SPW_NAME_CONFLICT`, `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`
 * @example
 * ```ts run
 * import { createShaper } from '@spillway/outgoing';
 *
 * const calls = createShaper({ limit: 4, window: '1s' });
 * await calls.schedule('acme', () => 'sent'); // 'sent'
 *
 * const next = await calls.reserve('acme');
 * next.allowed; // true
 * const other = await calls.reserveFirst(['umbrella', 'acme']);
 * other.key; // 'umbrella'
 * await calls.close();
 * ```
 */
export function createShaper(options: ShaperOptions, settings: ShaperSettings = {}): Shaper {
  return new Paced(options, settings);
}

class Paced implements Shaper, KeyQueueHost {
  readonly name: string;
  readonly burst: number;
  readonly rule: QueueRule;
  readonly slots: Slots;
  private readonly maxQueue: number;
  private readonly pace: LivePace;
  private readonly queues: Queues;
  private readonly reservations: Reservations;
  private readonly told: Told;
  private readonly waiting = new Set<Job>();
  private readonly running = new Set<Job>();
  private readonly turns = new Turns();
  private jobs = 0;
  private closing: Promise<void> | undefined;

  constructor(options: ShaperOptions, settings: ShaperSettings) {
    const { name, rule, maxQueue, random } = numbersOf(options, settings);
    const client = new DirectClient([name], settings);
    this.name = name;
    this.burst = rule.burst;
    this.rule = rule;
    this.maxQueue = maxQueue;
    const limit = client.limit(name, rule);
    this.pace = new LivePace(name, rule, client);
    this.slots = new Slots(client, limit, this.pace, random());
    const { clock } = client.store;
    this.queues = new Queues(this, clock);
    this.told = new Told(name, client);
    this.reservations = new Reservations(this.slots, this.queues, this.pace, this.told, clock);
  }

  get limit(): number {
    return this.pace.now.rule.limit;
  }

  get windowMs(): number {
    return this.pace.now.rule.windowUs / 1_000;
  }

  get periodMs(): number {
    return this.windowMs / this.limit;
  }

  reserve(key: string, options?: CostOptions): Promise<Reservation | Unreserved> {
    return this.inTurns(async () => this.reservations.take(key, costIn(options, this.rule)));
  }

  reserveFirst(keys: readonly string[], options?: CostOptions): Promise<Reservation | Unreserved> {
    return this.inTurns(async () => {
      const cost = costIn(options, this.rule);
      if (!Array.isArray(keys) || keys.length === 0) {
        throw mustBe('keys', 'a list of at least one key', keys, 'SPW_KEY_INVALID');
      }
      const different = new Set<string>(keys);
      if (different.size > MAX_STEPS) throw tooLarge();
      for (const key of different) checkKey(key);
      return this.reservations.takeFirst([...different], cost);
    });
  }

  schedule<T>(
    key: string,
    work: (signal: HostSignal) => T | PromiseLike<T>,
    options?: ScheduleOptions,
  ): Promise<T> {
    return this.inTurns(() => this.wait(key, work, options));
  }

  /** {@link schedule}, whose promise may be settled already. */
  private async wait<T>(
    key: string,
    work: (signal: HostSignal) => T | PromiseLike<T>,
    options: ScheduleOptions = {},
  ): Promise<T> {
    checkKey(key);
    checkCallback('work', work);
    const cost = costIn(options, this.rule);
    const { priority, signal } = jobOptions(options);
    if (signal?.aborted) throw signal.reason;
    if (this.closing) throw closed(this.name);
    const blockedMs = this.pace.blockedMs(key);
    if (blockedMs > 0) {
      this.refused(key, cost, 'blocked', blockedMs);
      throw blocked(this.name, blockedMs);
    }
    if (this.waiting.size >= this.maxQueue) {
      this.refused(key, cost, 'capacity');
      throw full(this.name, this.maxQueue);
    }
    const order = this.jobs++;
    const job = new Job(work as Work, { cost, priority, order, signal }, () => {
      this.waiting.delete(job);
      this.queues.get(key)?.drop(job);
    });
    this.waiting.add(job);
    this.queues.of(key).apply(job, (heard) => this.refuse(job, heard));
    await job.turn;
    void job.ended.then(() => this.running.delete(job));
    return job.run() as Promise<T>;
  }

  waitOf(key: string, options?: WaitOptions): Promise<number> {
    return this.inTurns(async () => {
      const priority = priorityIn(options);
      const behindMs = await this.slots.look(key, (heard) => heard.waitMs);
      const queue = this.queues.get(key);
      if (!queue) return behindMs;
      // The store may not have heard of a pause that this process began.
      return Math.max(queue.waitMs(priority, behindMs), queue.pausedMs);
    });
  }

  pauseOf(key: string): Promise<number> {
    return this.inTurns(async () => {
      const pauseMs = await this.slots.look(key, ({ pausedUntil }) =>
        pausedUntil ? (pausedUntil.localUs - this.slots.nowUs()) / 1_000 : 0,
      );
      return Math.max(pauseMs, this.queues.get(key)?.pausedMs ?? 0, 0);
    });
  }

  queueLength(key: string): number {
    return this.queues.get(key)?.length ?? 0;
  }

  pause(key: string, duration: Duration): Promise<void> {
    return this.inTurns(async () => {
      checkKey(key);
      const us = durationBetween('duration', duration, '0ms', '24h');
      const { failure } = await this.queues.of(key).pause(us);
      if (failure) throw noAnswer(this.name, failure);
    });
  }

  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  /** Whoever asks again and again must let the event loop turn, or no slot would ever be free. */
  private inTurns<Value>(ask: () => Promise<Value>): Promise<Value> {
    return this.turns.after(ask());
  }

  private async end(): Promise<void> {
    for (const job of this.waiting) job.refuse(closed(this.name));
    this.waiting.clear();
    this.reservations.close();
    const { queues, slots } = this;
    // Again, because what is on its way brings slots.
    do await Promise.all([queues.close(), slots.underway.end()]);
    while (slots.underway.isAny);
    await Promise.all([...this.running].map(({ ended }) => ended));
  }

  start(job: Job, slot: Slot): void {
    this.waiting.delete(job);
    this.running.add(job);
    job.start();
    this.told.started(slot, job.cost);
  }

  expire(job: Job, key: string, waitMs: number): void {
    this.waiting.delete(job);
    job.refuse(waitedTooLong(this.name, waitMs));
    this.refused(key, job.cost, 'rate');
  }

  changed(queue: KeyQueue): void {
    this.queues.update(queue, this.waiting.size > 0);
  }

  private refuse(job: Job, heard: Heard): void {
    const { isUnknown, failure, waitMs } = heard;
    this.waiting.delete(job);
    if (isUnknown && failure) job.refuse(noAnswer(this.name, failure));
    else job.refuse(waitTooLong(this.name, waitMs));
    this.told.refusedBy(heard);
  }

  /** Tells of what was refused without the store. */
  private refused(key: string, cost: number, reason: Reason, retryAfterMs = Number.NaN): void {
    this.told.refused({ key, cost, rule: this.pace.of(key).rule }, reason, retryAfterMs);
  }
}
