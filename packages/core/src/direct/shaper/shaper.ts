/** A shaper: lets work start at a pace, by key, over all processes that share its store. */

import { checkHas, checkOptions } from '../../base/check-shapes.js';
import { checkCallback, checkKey, durationBetween, integerBetween } from '../../base/checks.js';
import { wallClockMs } from '../../base/clock.js';
import type { Duration } from '../../base/duration.js';
import { mustBe } from '../../base/errors.js';
import type { QueueRule } from '../../contract/rule.js';
import type {
  HostSignal,
  Reservation,
  ScheduleOptions,
  Shaper,
  Unreserved,
} from '../../contract/shaper.js';
import { DirectClient } from '../direct-client.js';
import { Alarm } from './alarm.js';
import { Job, type Signal, type Work } from './job.js';
import { KeyQueue, type KeyQueueHost } from './key-queue.js';
import { numbersOf, type ShaperOptions, type ShaperSettings } from './options.js';
import { closed, full, noAnswer, waitTooLong } from './refusals.js';
import { type Heard, type Slot, Slots } from './slots.js';

/**
 * DOC
 */
export function createShaper(options: ShaperOptions, settings: ShaperSettings = {}): Shaper {
  return new Paced(options, settings);
}

interface Cost {
  readonly cost?: number | undefined;
}

class Paced implements Shaper, KeyQueueHost {
  readonly name: string;
  readonly periodMs: number;
  readonly rule: QueueRule;
  readonly slots: Slots;
  private readonly maxQueue: number;
  private readonly alarm: Alarm;
  private readonly queues = new Map<string, KeyQueue>();
  private readonly waiting = new Set<Job>();
  private readonly running = new Set<Promise<void>>();
  private jobs = 0;
  private isRinging = false;
  private closing: Promise<void> | undefined;

  constructor(options: ShaperOptions, settings: ShaperSettings) {
    const { name, rule, maxQueue } = numbersOf(options, settings);
    const client = new DirectClient([name], settings);
    this.name = name;
    this.rule = rule;
    this.maxQueue = maxQueue;
    this.periodMs = rule.windowUs / rule.limit / 1_000;
    this.slots = new Slots(client, client.limit(name, rule));
    this.alarm = new Alarm(client.store.clock, () => this.ring());
  }

  async reserve(key: string, options?: Cost): Promise<Reservation | Unreserved> {
    const cost = this.costIn(options);
    if (this.closing) return refused(key, 'closed', Infinity);
    const spare = this.queues.get(key)?.takeSpare(cost);
    if (spare) return this.reservation(spare);
    return this.slots.take(key, cost, (heard) => this.reserved(heard));
  }

  async reserveFirst(keys: readonly string[], options?: Cost): Promise<Reservation | Unreserved> {
    const cost = this.costIn(options);
    if (!Array.isArray(keys) || keys.length === 0) {
      throw mustBe('keys', 'a list of at least one key', keys, 'SPW_KEY_INVALID');
    }
    if (this.closing) return refused(keys[0] as string, 'closed', Infinity);
    const different = [...new Set<string>(keys)];
    return this.slots.takeFirst(different, cost, (heard) => this.reserved(heard));
  }

  async schedule<T>(
    key: string,
    work: (signal?: HostSignal) => T | PromiseLike<T>,
    options: ScheduleOptions = {},
  ): Promise<T> {
    checkKey(key);
    checkCallback('work', work);
    const cost = this.costIn(options);
    const { priority = 0 } = options;
    if (!Number.isFinite(priority)) throw mustBe('priority', 'a number', priority);
    const signal = options.signal as Signal | undefined;
    checkHas('signal', 'addEventListener', signal);
    if (signal?.aborted) throw signal.reason;
    if (this.closing) throw closed(this.name);
    if (this.waiting.size >= this.maxQueue) throw full(this.name, this.maxQueue);
    const order = this.jobs++;
    const job = new Job(work as Work, { cost, priority, order, signal }, () => {
      this.waiting.delete(job);
      this.queues.get(key)?.drop(job);
    });
    this.waiting.add(job);
    this.queueOf(key).apply(job, (heard) => this.refuse(job, heard));
    return job.result as Promise<T>;
  }

  async waitOf(key: string): Promise<number> {
    return this.slots.look(key, ({ waitMs }) => waitMs);
  }

  queueLength(key: string): number {
    return this.queues.get(key)?.length ?? 0;
  }

  async pause(key: string, duration: Duration): Promise<void> {
    const us = durationBetween('duration', duration, '0ms', '24h');
    this.queues.get(key)?.pauseUntil(this.slots.nowUs() + us);
    return this.slots.hold(key, us, (heard) => {
      const queue = this.queues.get(key);
      queue?.note(heard);
      queue?.turn();
    });
  }

  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private async end(): Promise<void> {
    for (const job of this.waiting) job.refuse(closed(this.name));
    this.waiting.clear();
    await Promise.all([...this.queues.values()].map((queue) => queue.close()));
    await Promise.all(this.running);
  }

  start(job: Job): void {
    this.waiting.delete(job);
    const run = job.start();
    this.running.add(run);
    void run.then(() => this.running.delete(run));
  }

  /** Sets the alarm to what is due next, and forgets keys at rest. */
  changed(): void {
    if (this.isRinging) return;
    const nowUs = this.slots.nowUs();
    let dueUs = Infinity;
    for (const [key, queue] of this.queues) {
      if (queue.isAtRest(nowUs)) this.queues.delete(key);
      else dueUs = Math.min(dueUs, queue.dueUs());
    }
    this.alarm.set(dueUs, this.waiting.size > 0);
  }

  private ring(): void {
    this.isRinging = true;
    for (const queue of this.queues.values()) queue.turn();
    this.isRinging = false;
    this.changed();
  }

  private queueOf(key: string): KeyQueue {
    let queue = this.queues.get(key);
    if (!queue) {
      queue = new KeyQueue(key, this);
      this.queues.set(key, queue);
    }
    return queue;
  }

  private refuse(job: Job, { isUnknown, failure, waitMs }: Heard): void {
    this.waiting.delete(job);
    const isLost = isUnknown && failure;
    job.refuse(isLost ? noAnswer(this.name, failure) : waitTooLong(this.name, waitMs));
  }

  private reserved(heard: Heard): Reservation | Unreserved {
    const { key, slot, isUnknown, waitMs } = heard;
    this.queues.get(key)?.note(heard);
    if (slot) return this.reservation(slot);
    return refused(key, isUnknown ? 'store-error' : 'wait', waitMs);
  }

  private reservation(slot: Slot): Reservation {
    const { key, at } = slot;
    if (slot.isLocal) this.queueOf(key).reserved(slot);
    const delayMs = Math.max(0, at.localUs - this.slots.nowUs()) / 1_000;
    let isHeld = true;
    const cancel = () => {
      if (isHeld) this.queueOf(key).release(slot);
      isHeld = false;
    };
    return { allowed: true, key, delayMs, startAt: wallClockMs() + delayMs, cancel };
  }

  /** @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_COST_INVALID` */
  private costIn(options: Cost = {}): number {
    checkOptions(options);
    const { cost = 1 } = options;
    const { burst } = this.rule;
    if (Number.isSafeInteger(cost) && cost > burst) {
      throw mustBe(
        'cost',
        `at most the burst, ${burst} (set burst to the largest cost)`,
        cost,
        'SPW_COST_INVALID',
      );
    }
    return integerBetween('cost', cost, 1, burst, 'SPW_COST_INVALID');
  }
}

function refused(key: string, reason: Unreserved['reason'], wouldWaitMs: number): Unreserved {
  return { allowed: false, key, reason, wouldWaitMs };
}
