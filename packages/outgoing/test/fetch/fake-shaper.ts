/**
 * A shaper in memory and in virtual time that does what the interface says: one slot per period, a burst of one, and
 * every waiting call learns of a pause before its start.
 */

import type {
  Drained,
  Reservation,
  RunningJob,
  ScheduleOptions,
  Shaper,
  ShaperStats,
  Unreserved,
} from '@spillway/outgoing';
import type { VirtualTime } from './virtual-time.js';

interface Key {
  nextMs: number;
  pausedUntilMs: number;
  waiting: number;
}

/** One pause that was requested. */
export interface Paused {
  readonly key: string;
  readonly ms: number;
}

export class FakeShaper implements Shaper {
  readonly name = 'fake';
  readonly limit = 1;
  readonly burst = 1;
  readonly maxConcurrent = Infinity;
  readonly windowMs: number;
  readonly periodMs: number;
  readonly pauses: Paused[] = [];
  readonly starts: { readonly key: string; readonly atMs: number }[] = [];
  private readonly keys = new Map<string, Key>();
  private readonly time: VirtualTime;
  /** How long the store takes to answer, in milliseconds. */
  private readonly storeMs: number;

  constructor(time: VirtualTime, periodMs: number, storeMs = 0) {
    this.time = time;
    this.windowMs = periodMs;
    this.periodMs = periodMs;
    this.storeMs = storeMs;
  }

  async reserve(key: string): Promise<Reservation | Unreserved> {
    const startAt = this.take(this.of(key));
    const delayMs = startAt - this.time.nowMs();
    return { allowed: true, key, delayMs, startAt, cancel: () => undefined };
  }

  reserveFirst([first = '']: readonly string[]): Promise<Reservation | Unreserved> {
    return this.reserve(first);
  }

  async schedule<T>(
    key: string,
    work: (signal: AbortSignal, job: RunningJob) => T | PromiseLike<T>,
    { signal }: ScheduleOptions = {},
  ): Promise<T> {
    const known = this.of(key);
    signal?.throwIfAborted();
    await this.store();
    known.waiting += 1;
    for (let slot = this.take(known); ; slot = this.take(known)) {
      await this.until(slot, signal, known);
      await this.store();
      if (known.pausedUntilMs <= this.time.nowMs()) break;
    }
    known.waiting -= 1;
    this.starts.push({ key, atMs: this.time.nowMs() });
    return work(signal ?? new AbortController().signal, { settle: () => undefined });
  }

  runTask<T>(run: (schedule: Shaper['schedule']) => Promise<T>): Promise<T> {
    return run((...args) => this.schedule(...args));
  }

  async waitOf(key: string): Promise<number> {
    await this.store();
    const { nextMs, pausedUntilMs } = this.of(key);
    return Math.max(0, nextMs - this.time.nowMs(), pausedUntilMs - this.time.nowMs());
  }

  paceOf(): Pick<Shaper, 'periodMs' | 'maxConcurrent'> {
    return { periodMs: this.periodMs, maxConcurrent: this.maxConcurrent };
  }

  async pauseOf(key: string): Promise<number> {
    await this.store();
    return Math.max(0, this.of(key).pausedUntilMs - this.time.nowMs());
  }

  queueLength(key: string): number {
    return this.of(key).waiting;
  }

  async pause(key: string, duration: number): Promise<void> {
    this.pauses.push({ key, ms: duration });
    const known = this.of(key);
    const untilMs = this.time.nowMs() + duration;
    await this.store();
    known.pausedUntilMs = Math.max(known.pausedUntilMs, untilMs);
    known.nextMs = Math.max(known.nextMs, untilMs);
  }

  /** Of these, `pacedFetch` needs nothing. */
  readonly waiting = 0;
  readonly running = 0;
  stats(): ShaperStats {
    return { waiting: 0, running: 0, nextStartMs: null, pausedUntilMs: null, pausedBy: null };
  }
  async onIdle(): Promise<void> {}
  async drain(): Promise<Drained> {
    return { rejected: 0, running: 0 };
  }
  async close(): Promise<void> {}

  private take(known: Key): number {
    const slot = Math.max(this.time.nowMs(), known.nextMs);
    known.nextMs = slot + this.periodMs;
    return slot;
  }

  private async until(slot: number, signal: AbortSignal | undefined, known: Key): Promise<void> {
    const delayMs = slot - this.time.nowMs();
    if (delayMs <= 0) return;
    const aborted = new Promise<never>((_, reject) => {
      signal?.addEventListener('abort', () => {
        known.waiting -= 1;
        reject(signal.reason as Error);
      });
    });
    await Promise.race([this.time.sleep(delayMs), aborted]);
  }

  private async store(): Promise<void> {
    if (this.storeMs > 0) await this.time.sleep(this.storeMs);
  }

  private of(key: string): Key {
    let known = this.keys.get(key);
    if (!known) {
      known = { nextMs: 0, pausedUntilMs: 0, waiting: 0 };
      this.keys.set(key, known);
    }
    return known;
  }
}
