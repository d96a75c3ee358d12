/** The keys of a shaper that something waits for in this process, and the one alarm for all of them. */

import type { Clock } from '@spillway/core';
import { Alarm } from './alarm.js';
import { KeyQueue, type KeyQueueHost } from './key-queue.js';
import { Ranked } from './ranked.js';

export class Queues {
  private readonly byKey = new Map<string, KeyQueue>();
  /** Those for which something will be due: a change of one key costs about the same, however many others there are. */
  private readonly byAlarm = new Ranked<KeyQueue>((one, other) => one.alarmUs < other.alarmUs);
  private readonly alarm: Alarm;
  private readonly host: KeyQueueHost;
  private isRinging = false;
  private latestUs = -Infinity;
  /** Whether our clock went back, so that nobody knows when anything is due. */
  private wasSetBack = false;
  private isWork = false;

  constructor(host: KeyQueueHost, clock: Clock) {
    this.host = host;
    this.alarm = new Alarm(clock, () => this.ring());
  }

  /** How many keys are not forgotten. */
  get size(): number {
    return this.byKey.size;
  }

  get(key: string): KeyQueue | undefined {
    // Nearly always nothing waits, and to look for a key costs as much as to look for its count.
    return this.byKey.size === 0 ? undefined : this.byKey.get(key);
  }

  of(key: string): KeyQueue {
    let queue = this.byKey.get(key);
    if (!queue) {
      queue = new KeyQueue(key, this.host);
      this.byKey.set(key, queue);
    }
    return queue;
  }

  /**
   * A key has changed: sets the alarm to what is due next, and forgets the key if it is at rest.
   *
   * @param isWork whether the process stays alive for the alarm
   */
  update(queue: KeyQueue, isWork: boolean): void {
    this.isWork = isWork;
    if (this.byKey.get(queue.key) === queue) this.rank(queue);
    if (!this.isRinging) this.setAlarm();
  }

  /** Forgets all jobs, which were refused; done when their slots were given back. */
  async close(): Promise<void> {
    await Promise.all([...this.byKey.values()].map((queue) => queue.close()));
  }

  private rank(queue: KeyQueue): void {
    const { byKey, byAlarm } = this;
    const nowUs = this.nowUs();
    byAlarm.remove(queue);
    if (queue.isAtRest(nowUs)) {
      byKey.delete(queue.key);
      return;
    }
    queue.alarmUs = queue.dueUs(nowUs);
    if (queue.alarmUs < Infinity) byAlarm.add(queue);
  }

  private setAlarm(): void {
    const dueUs = this.byAlarm.first?.alarmUs ?? Infinity;
    this.alarm.set(this.wasSetBack ? this.latestUs : dueUs, this.isWork);
  }

  private nowUs(): number {
    const nowUs = this.host.slots.nowUs();
    if (nowUs < this.latestUs) this.wasSetBack = true;
    this.latestUs = nowUs;
    return nowUs;
  }

  private ring(): void {
    const nowUs = this.nowUs();
    const due = this.wasSetBack ? [...this.byKey.values()] : this.dueAt(nowUs);
    this.wasSetBack = false;
    this.isRinging = true;
    for (const queue of due) queue.turn();
    this.isRinging = false;
    this.setAlarm();
  }

  private dueAt(nowUs: number): readonly KeyQueue[] {
    const { byAlarm } = this;
    const due: KeyQueue[] = [];
    for (let { first } = byAlarm; first && first.alarmUs <= nowUs; first = byAlarm.first) {
      byAlarm.remove(first);
      due.push(first);
    }
    return due;
  }
}
