/** The keys of a shaper that something waits for in this process, and the one alarm for all of them. */

import type { Clock } from '../../base/clock.js';
import { Alarm } from './alarm.js';
import { KeyQueue, type KeyQueueHost } from './key-queue.js';

export class Queues {
  private readonly byKey = new Map<string, KeyQueue>();
  private readonly alarm: Alarm;
  private readonly host: KeyQueueHost;
  private isRinging = false;

  constructor(host: KeyQueueHost, clock: Clock) {
    this.host = host;
    this.alarm = new Alarm(clock, () => this.ring());
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
   * Sets the alarm to what is due next, and forgets keys at rest.
   *
   * @param isWork whether the process stays alive for it
   */
  update(isWork: boolean): void {
    if (this.isRinging) return;
    const nowUs = this.host.slots.nowUs();
    let dueUs = Infinity;
    for (const [key, queue] of this.byKey) {
      if (queue.isAtRest(nowUs)) this.byKey.delete(key);
      else dueUs = Math.min(dueUs, queue.dueUs());
    }
    this.alarm.set(dueUs, isWork);
  }

  /** Forgets all jobs, which were refused; done when their slots were given back. */
  async close(): Promise<void> {
    await Promise.all([...this.byKey.values()].map((queue) => queue.close()));
  }

  private ring(): void {
    this.isRinging = true;
    for (const queue of this.byKey.values()) queue.turn();
    this.isRinging = false;
    this.host.changed();
  }
}
