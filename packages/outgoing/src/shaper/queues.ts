import type { Clock } from '@spillway/core';
import { getOrMake } from '@spillway/core/direct';
import { after, afterIdly } from '@spillway/core/store';
import { Heap } from './heap.js';
import { JobQueue, type JobQueueHost } from './job-queue.js';

/** The longest timer. Runtimes support up to 24 days, but a shorter timer notices sooner that the clock was set. */
const MAX_TIMER_MS = 3_600_000;

export class Queues {
  private readonly byKey = new Map<string, JobQueue>();
  /** The queues in order of `wakeUs`, in a heap, because changes must stay cheap with many keys. */
  private readonly byWakeTime = new Heap<JobQueue>((one, other) => one.wakeUs < other.wakeUs);
  private readonly host: JobQueueHost;
  private readonly clock: Clock;
  private cancelTimer: (() => void) | undefined;
  private isRunning = false;
  private latestUs = -Infinity;
  /** Whether this process's clock was set back. Then all queues run, because their wake times are no longer valid. */
  private wasSetBack = false;
  private keepsAlive = false;

  constructor(host: JobQueueHost, clock: Clock) {
    this.host = host;
    this.clock = clock;
  }

  get size(): number {
    return this.byKey.size;
  }

  queueOf(key: string): JobQueue | undefined {
    // Usually no job waits. Then this saves a lookup that takes as long as finding a count in memory.
    return this.byKey.size === 0 ? undefined : this.byKey.get(key);
  }

  getOrCreate(key: string): JobQueue {
    return getOrMake(this.byKey, key, () => new JobQueue(key, this.host));
  }

  update(queue: JobQueue, keepsAlive: boolean): void {
    this.keepsAlive = keepsAlive;
    if (this.byKey.get(queue.key) === queue) this.reorder(queue);
    if (!this.isRunning) this.setTimer();
  }

  async cancelJobs(): Promise<void> {
    await Promise.all([...this.byKey.values()].map((queue) => queue.cancelJobs()));
  }

  clear(): void {
    for (const queue of this.byKey.values()) this.byWakeTime.remove(queue);
    this.byKey.clear();
    this.setTimer();
  }

  private reorder(queue: JobQueue): void {
    const { byKey, byWakeTime } = this;
    const nowUs = this.nowUs();
    byWakeTime.remove(queue);
    if (queue.isIdle(nowUs)) {
      byKey.delete(queue.key);
      return;
    }
    queue.wakeUs = queue.dueUs(nowUs);
    if (queue.wakeUs < Infinity) byWakeTime.add(queue);
  }

  private nowUs(): number {
    const nowUs = this.host.slots.nowUs();
    if (nowUs < this.latestUs) this.wasSetBack = true;
    this.latestUs = nowUs;
    return nowUs;
  }

  private setTimer(): void {
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    const wakeUs = this.wasSetBack ? this.latestUs : (this.byWakeTime.first?.wakeUs ?? Infinity);
    if (wakeUs === Infinity) return;
    // Rounded up, because runtimes drop the fraction and would fire too early.
    const ms = Math.ceil((wakeUs - this.clock.nowUs()) / 1_000);
    const wait = this.keepsAlive ? after : afterIdly;
    this.cancelTimer = wait(Math.min(Math.max(ms, 0), MAX_TIMER_MS), () => {
      this.cancelTimer = undefined;
      this.runDue();
    });
  }

  private runDue(): void {
    const nowUs = this.nowUs();
    const due = this.wasSetBack ? [...this.byKey.values()] : this.takeDue(nowUs);
    if (this.wasSetBack) for (const queue of due) queue.forgetTimes();
    this.wasSetBack = false;
    this.isRunning = true;
    for (const queue of due) queue.runDue();
    this.isRunning = false;
    this.setTimer();
  }

  private takeDue(nowUs: number): readonly JobQueue[] {
    const { byWakeTime } = this;
    const due: JobQueue[] = [];
    for (let { first } = byWakeTime; first && first.wakeUs <= nowUs; first = byWakeTime.first) {
      byWakeTime.remove(first);
      due.push(first);
    }
    return due;
  }
}
