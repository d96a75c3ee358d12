/** How long an event waits because the loop is busy: the drift of its timer, and 0 while the loop has little to do. */

import { TimerDrift } from './drift.js';
import type { LoopTimes } from './host.js';

/** Below this utilization a late loop is not an overloaded one: others had the processor. */
const BUSY = 0.5;
/**
 * The memory of the utilization's average: one request that met a neighbour does not fill it, an overload does in 350
 * ms.
 */
const MEMORY_MS = 500;

export class WaitMeter {
  private readonly drift: TimerDrift;
  /** The part of the time in which the loop was busy; undefined as long as the host has counted nothing. */
  private utilization: number | undefined;
  private times: LoopTimes | undefined;

  constructor(periodMs: number, nowMs: number, times: LoopTimes | undefined) {
    this.times = times;
    this.drift = new TimerDrift(periodMs, nowMs);
  }

  /** The timer fired. */
  fired(nowMs: number, times: LoopTimes | undefined): void {
    this.drift.fired(nowMs);
    this.utilization = this.utilizationAt(times);
    this.times = times;
  }

  /** The loop has come round. */
  turned(nowMs: number): void {
    this.drift.turned(nowMs);
  }

  /** What an event that arrives now waits, as far as refusing others would shorten it. */
  waitMs(nowMs: number, times: LoopTimes | undefined): number {
    const utilization = this.utilizationAt(times);
    const isIdle = utilization !== undefined && utilization < BUSY;
    return isIdle ? 0 : this.drift.waitMs(nowMs);
  }

  /** How long a time the newest wait speaks of. */
  coveredMs(nowMs: number): number {
    return this.drift.coveredMs(nowMs);
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
