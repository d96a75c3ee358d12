/** The shaper: starts work at a pace, by key, over all processes that share a store. */

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
import { Job, readCost, readJobOptions, readPriority, type Work } from './job.js';
import type { JobQueue, JobQueueHost } from './job-queue.js';
import {
  blocked,
  closed,
  DecisionReporter,
  full,
  noAnswer,
  waitedTooLong,
  waitTooLong,
} from './outcomes.js';
import { Queues } from './queues.js';
import { Reservations } from './reservations.js';
import {
  LivePace,
  readOptions,
  type ShaperOptions,
  type ShaperSettings,
} from './shaper-options.js';
import { type Slot, type SlotAnswer, SlotClient } from './slots.js';

/**
 * Makes a shaper: it starts work at a pace, by key, over all processes that share its store. With 4 per second, work
 * starts every 250 ms. Work that comes too early is not rejected, but waits for its slot, at most `maxWait`.
 *
 * - `schedule` waits for a slot, runs the work and settles as it does. A waiting job keeps the process alive. Jobs of a
 *   key and cost start by priority, then in the order in which they came, as long as each accepted job still starts
 *   within `maxWait`. A job that cannot, because of a pause or an outage, is rejected with `SPW_SHAPER_WAIT`. An
 *   aborted job settles at once, and the next job of the same cost gets its slot.
 * - `reserve` returns when work may start, and leaves the start to you. `reserveFirst` tries several keys, and reserves
 *   a slot of the first one whose wait is at most `maxWait`. A rejected reservation takes nothing.
 * - `pause` holds back all starts of a key in every process. Waiting jobs check for a pause 50 ms before their start,
 *   or earlier if the store takes longer than 24 ms to answer.
 *
 * A job starts at its slot by the clock of the store, never before. If this process was stalled and is late by more
 * than one period, and by more than 50 ms, the job gets another slot. Work starts after the call of `schedule` has
 * returned, and runs in the async context of that call.
 *
 * When the store fails, this process keeps `localShare` of the pace. When the store is back, waiting jobs get slots of
 * the store. A pause that could not be stored rejects, but holds for the jobs of this process, and is sent again while
 * it lasts.
 *
 * Observers get a decision for each job that starts or is rejected, and for each reservation. Aborted jobs, and jobs
 * that are rejected because the shaper was closed, are not decisions.
 *
 * All methods return promises. They also reject for invalid arguments: a key that is not a string of 1 to 8,192 UTF-16
 * units (`SPW_KEY_INVALID`), a cost that is not an integer from 1 to the burst (`SPW_COST_INVALID`), more than 1,000
 * keys (`SPW_GROUP_TOO_LARGE`). `schedule` rejects with `SPW_SHAPER_WAIT`, `SPW_SHAPER_FULL`, `SPW_SHAPER_BLOCKED` and
 * `SPW_SHAPER_CLOSED`, with `SPW_STORE_UNAVAILABLE` if the store fails and `onStoreError` is `deny`. An aborted job
 * rejects with the reason of its signal.
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
  return new KeyedShaper(options, settings);
}

class KeyedShaper implements Shaper, JobQueueHost {
  readonly name: string;
  readonly burst: number;
  readonly rule: QueueRule;
  readonly slots: SlotClient;
  private readonly maxQueue: number;
  private readonly pace: LivePace;
  private readonly queues: Queues;
  private readonly reservations: Reservations;
  private readonly reporter: DecisionReporter;
  private readonly waiting = new Set<Job>();
  private readonly running = new Set<Job>();
  private readonly turns = new Turns();
  private jobCount = 0;
  private closing: Promise<void> | undefined;

  constructor(options: ShaperOptions, settings: ShaperSettings) {
    const { name, rule, maxQueue, random } = readOptions(options, settings);
    const client = new DirectClient([name], settings);
    this.name = name;
    this.burst = rule.burst;
    this.rule = rule;
    this.maxQueue = maxQueue;
    const limit = client.limit(name, rule);
    this.pace = new LivePace(name, rule, client);
    this.slots = new SlotClient(client, limit, this.pace, random());
    const { clock } = client.store;
    this.queues = new Queues(this, clock);
    this.reporter = new DecisionReporter(name, client);
    this.reservations = new Reservations(this.slots, this.queues, this.pace, this.reporter, clock);
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
    return this.yieldAfter(async () =>
      this.reservations.reserve(key, readCost(options, this.rule)),
    );
  }

  reserveFirst(keys: readonly string[], options?: CostOptions): Promise<Reservation | Unreserved> {
    return this.yieldAfter(async () => {
      const cost = readCost(options, this.rule);
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
    return this.yieldAfter(() => this.runJob(key, work, options));
  }

  private async runJob<T>(
    key: string,
    work: (signal: HostSignal) => T | PromiseLike<T>,
    options: ScheduleOptions = {},
  ): Promise<T> {
    checkKey(key);
    checkCallback('work', work);
    const cost = readCost(options, this.rule);
    const { priority, signal } = readJobOptions(options);
    if (signal?.aborted) throw signal.reason;
    if (this.closing) throw closed(this.name);
    const blockedMs = this.pace.blockedMs(key);
    if (blockedMs > 0) {
      this.reportRejection(key, cost, 'blocked', blockedMs);
      throw blocked(this.name, blockedMs);
    }
    if (this.waiting.size >= this.maxQueue) {
      this.reportRejection(key, cost, 'capacity');
      throw full(this.name, this.maxQueue);
    }
    const order = this.jobCount++;
    const job = new Job(work as Work, { cost, priority, order, signal }, () => {
      this.waiting.delete(job);
      this.queues.queueOf(key)?.drop(job);
    });
    this.waiting.add(job);
    this.queues.getOrCreate(key).enqueue(job, (answer) => this.rejectJob(job, answer));
    await job.ready;
    void job.ended.then(() => this.running.delete(job));
    return job.runJob() as Promise<T>;
  }

  waitOf(key: string, options?: WaitOptions): Promise<number> {
    return this.yieldAfter(async () => {
      const priority = readPriority(options);
      const storeMs = await this.slots.peek(key, (answer) => answer.waitMs);
      const queue = this.queues.queueOf(key);
      if (!queue) return storeMs;
      // The store may not have a pause that this process began.
      return Math.max(queue.waitMs(priority, storeMs), queue.pausedMs);
    });
  }

  pauseOf(key: string): Promise<number> {
    return this.yieldAfter(async () => {
      const pauseMs = await this.slots.peek(key, ({ pausedUntil }) =>
        pausedUntil ? (pausedUntil.localUs - this.slots.nowUs()) / 1_000 : 0,
      );
      return Math.max(pauseMs, this.queues.queueOf(key)?.pausedMs ?? 0, 0);
    });
  }

  queueLength(key: string): number {
    return this.queues.queueOf(key)?.length ?? 0;
  }

  pause(key: string, duration: Duration): Promise<void> {
    return this.yieldAfter(async () => {
      checkKey(key);
      const us = durationBetween('duration', duration, '0ms', '24h');
      const { failure } = await this.queues.getOrCreate(key).beginPause(us);
      if (failure) throw noAnswer(this.name, failure);
    });
  }

  close(): Promise<void> {
    this.closing ??= this.closeAll();
    return this.closing;
  }

  /** A caller in a loop must let the event loop turn, or its slots would never come. */
  private yieldAfter<Value>(call: () => Promise<Value>): Promise<Value> {
    return this.turns.after(call());
  }

  private async closeAll(): Promise<void> {
    for (const job of this.waiting) job.reject(closed(this.name));
    this.waiting.clear();
    this.reservations.stopReserving();
    const { queues, slots } = this;
    // Again, because the answers of pending calls can bring slots.
    do await Promise.all([queues.cancelJobs(), slots.pending.whenIdle()]);
    while (slots.pending.isAny);
    await Promise.all([...this.running].map(({ ended }) => ended));
  }

  startJob(job: Job, slot: Slot): void {
    this.waiting.delete(job);
    this.running.add(job);
    job.start();
    this.reporter.reportStart(slot);
  }

  expireJob(job: Job, key: string, waitMs: number): void {
    this.waiting.delete(job);
    job.reject(waitedTooLong(this.name, waitMs));
    this.reportRejection(key, job.cost, 'rate');
  }

  queueChanged(queue: JobQueue): void {
    this.queues.update(queue, this.waiting.size > 0);
  }

  private rejectJob(job: Job, answer: SlotAnswer): void {
    const { isUnknown, failure, waitMs } = answer;
    this.waiting.delete(job);
    if (isUnknown && failure) job.reject(noAnswer(this.name, failure));
    else job.reject(waitTooLong(this.name, waitMs));
    this.reporter.reportAnswer(answer);
  }

  private reportRejection(
    key: string,
    cost: number,
    reason: Reason,
    retryAfterMs = Number.NaN,
  ): void {
    const { rule } = this.pace.paceFor(key);
    this.reporter.reportRejection({ key, cost, rule }, reason, retryAfterMs);
  }
}
