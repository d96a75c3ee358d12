/**
 * How long an event waits because the loop is busy: the drift of its timer, as far as that is the process's own work,
 * or that the loop never pauses; and 0 while the loop has little to do.
 */

import { TimerDrift } from './drift.js';
import type { LoopTimes } from './host.js';

/** Below this utilization a late loop is not an overloaded one: others had the processor. */
const BUSY = 0.5;
/**
 * The memory of the averages: one request that met a neighbour does not fill it, an overload does in 350 ms.
 */
const MEMORY_MS = 500;
/** A period with less idle time than this part of it had no pause: asking for events takes time too. */
const PAUSE = 0.01;
/** A loop that did not pause for so long is at its mark, however short its turns are. */
const BREATHLESS_MS = 500;
/** Lateness counts at least by this part: a loop that waits for a disk, and not for the processor, is late as well. */
const LEAST_SHARE = 0.2;

export class WaitMeter {
  private readonly drift: TimerDrift;
  /** The part of the time in which the loop was busy; undefined as long as the host has counted nothing. */
  private utilization: number | undefined;
  /** The part of its busy time in which the process had the processor. */
  private share = 1;
  private times: LoopTimes | undefined;
  /** When the loop last paused. */
  private pausedMs: number;

  constructor(periodMs: number, nowMs: number, times: LoopTimes | undefined) {
    this.times = times;
    this.pausedMs = nowMs;
    this.drift = new TimerDrift(periodMs, nowMs);
  }

  /** The timer fired. */
  fired(nowMs: number, times: LoopTimes | undefined): void {
    this.drift.fired(nowMs);
    if (this.hasPaused(times)) this.pausedMs = nowMs;
    this.share = this.shareAt(times);
    this.utilization = this.utilizationAt(times);
    this.times = times;
  }

  /** The loop has come round. */
  turned(nowMs: number): void {
    this.drift.turned(nowMs);
  }

  /** What an event that arrives now waits, in marks, as far as refusing others would shorten it. */
  value(nowMs: number, times: LoopTimes | undefined, markMs: number): number {
    const utilization = this.utilizationAt(times);
    if (utilization !== undefined && utilization < BUSY) return 0;
    const waitMs = this.drift.waitMs(nowMs) * Math.max(this.shareAt(times), LEAST_SHARE);
    return Math.max(waitMs / markMs, (nowMs - this.pausedMs) / BREATHLESS_MS);
  }

  waitMs(nowMs: number, times: LoopTimes | undefined): number { return this.value(nowMs, times, 1); }

  /** How long a time the newest wait speaks of. */
  coveredMs(nowMs: number): number {
    return this.drift.coveredMs(nowMs);
  }

  /** Whether the loop was idle at times since the timer last fired. True where the host does not count it. */
  private hasPaused(times: LoopTimes | undefined): boolean {
    if (!times || !this.times) return true;
    const idleMs = times.idle - this.times.idle;
    const activeMs = times.active - this.times.active;
    return idleMs >= PAUSE * (idleMs + activeMs);
  }

  private shareAt(times: LoopTimes | undefined): number {
    if (!times || !this.times || times.cpu === undefined || this.times.cpu === undefined) return this.share;
    const activeMs = times.active - this.times.active;
    if (!(activeMs > 0)) return this.share;
    const part = Math.min(1, (times.cpu - this.times.cpu) / activeMs);
    return this.share + (part - this.share) * (1 - Math.exp(-activeMs / MEMORY_MS));
  }

  private utilizationAt(times: LoopTimes | undefined): number | undefined {
    if (!times || !this.times) return this.utilization;
    const activeMs = times.active - this.times.active;
    const totalMs = activeMs + times.idle - this.times.idle;
    if (!(totalMs > 0)) return this.utilization;
    const before = this.utilization ?? 0;
    return before + (activeMs / totalMs - before) * (1 - Math.exp(-totalMs / MEMORY_MS));
  }
}
