/** Measures how overloaded the event loop is: 0 if the loop is mostly idle, 1 at the target. */

import type { LoopTimes } from './host.js';

/**
 * Below this utilization, a late loop is not overloaded: other processes had the CPU, and rejecting requests would not
 * help. Next to two busy processes, a server rejected 53 of 60 requests without this check, and 12 with it.
 */
const BUSY = 0.5;
/**
 * Time constant of the averages. Next to two busy processes, 4.6 % of requests were rejected with 100 ms, and 1.2 %
 * with 500 ms. With one second, a tenth of the critical requests failed when an overload hit an idle loop.
 */
const MEMORY_MS = 500;
/** Less idle time than this fraction counts as none, because it includes polling the system for events. */
const PAUSE = 0.01;
/**
 * When the loop has accepted connections for this long without idling, the load is at least 1. The loop accepts one
 * connection per iteration (libuv since 1.45), and the others wait in the kernel, where no timer sees them. Without
 * this rule, none of 453 requests a second on new connections was served in time.
 */
const ACCEPTING_MS = 400;
/**
 * The minimum weight of a delay. The weight is the process's CPU share, which is small while the loop blocks on a disk.
 * Without the minimum, such a delay would hardly count.
 */
const LEAST_SHARE = 0.5;

export class WaitMeter {
  private readonly drift: TimerDrift;
  private utilization: number | undefined;
  private cpuShare = 1;
  private times: LoopTimes | undefined;
  private turnTimes: LoopTimes | undefined;
  /** Connections accepted before the iteration in which the timer fired; undefined between iterations. */
  private acceptedBefore: number | undefined;
  /** When an iteration last ended without a queue of connections: the loop was idle or accepted none. */
  private noQueueMs: number;

  constructor(periodMs: number, nowMs: number, times: LoopTimes | undefined) {
    this.times = times;
    this.turnTimes = times;
    this.noQueueMs = nowMs;
    this.drift = new TimerDrift(periodMs, nowMs);
  }

  fired(nowMs: number, times: LoopTimes | undefined): void {
    this.drift.fired(nowMs);
    this.acceptedBefore ??= times?.accepted;
    const since = spanOf(this.times, times);
    this.utilization = this.utilizationAt(since);
    this.cpuShare = this.shareAt(since);
    this.times = times;
  }

  turned(nowMs: number, times: LoopTimes | undefined): void {
    if (!this.drift.turned(nowMs)) return;
    const since = spanOf(this.turnTimes, times);
    // Only connections of this iteration count: in a whole period, some are accepted without having waited.
    const hasAccepted = (times?.accepted ?? 0) > (this.acceptedBefore ?? 0);
    this.acceptedBefore = undefined;
    const isQueue = since && hasAccepted && since.idleMs < PAUSE * since.totalMs;
    if (!isQueue) this.noQueueMs = nowMs;
    this.turnTimes = times;
  }

  /**
   * The load now: the expected delay of an event, divided by `markMs`. The delay is weighted by this process's CPU
   * share, because rejections don't shorten delays that other processes cause.
   *
   * The load is 0 while the loop is mostly idle. While connections wait to be accepted, it is at least the time without
   * idling, divided by {@link ACCEPTING_MS}.
   */
  value(nowMs: number, times: LoopTimes | undefined, markMs: number): number {
    const since = spanOf(this.times, times);
    const utilization = this.utilizationAt(since);
    if (utilization !== undefined && utilization < BUSY) return 0;
    const waitMs = this.drift.waitMs(nowMs) * Math.max(this.shareAt(since), LEAST_SHARE);
    return Math.max(waitMs / markMs, (nowMs - this.noQueueMs) / ACCEPTING_MS);
  }

  coveredMs(nowMs: number): number {
    return this.drift.coveredMs(nowMs);
  }

  private utilizationAt(since: Span | undefined): number | undefined {
    if (!since) return this.utilization;
    const part = since.activeMs / since.totalMs;
    return faded(this.utilization ?? 0, part, since.totalMs);
  }

  private shareAt(since: Span | undefined): number {
    if (!since || Number.isNaN(since.cpuMs) || !(since.activeMs > 0)) return this.cpuShare;
    // The quotient exceeds 1 if the CPU time includes other threads or polling for events.
    return faded(this.cpuShare, Math.min(1, since.cpuMs / since.activeMs), since.activeMs);
  }
}

/** The times of the loop between two readings. `cpuMs` is NaN if the host doesn't report CPU time. */
interface Span {
  readonly activeMs: number;
  readonly idleMs: number;
  readonly totalMs: number;
  readonly cpuMs: number;
}

function spanOf(from: LoopTimes | undefined, to: LoopTimes | undefined): Span | undefined {
  if (!from || !to) return undefined;
  const activeMs = to.active - from.active;
  const idleMs = to.idle - from.idle;
  const totalMs = activeMs + idleMs;
  if (!(totalMs > 0)) return undefined;
  const cpuMs = (to.cpu ?? Number.NaN) - (from.cpu ?? Number.NaN);
  return { activeMs, idleMs, totalMs, cpuMs };
}

function faded(before: number, part: number, forMs: number): number {
  return before + (part - before) * (1 - Math.exp(-forMs / MEMORY_MS));
}

const WEIGHT = 0.2;

/** Measures the event loop delay by how late a periodic timer fires. */
export class TimerDrift {
  private averageMs = 0;
  private spanMs: number;
  /** The duration of the last complete loop iteration, from the timer until pending events were handled. */
  private turnMs = 0;
  private turnFromMs: number | undefined;
  private readonly periodMs: number;
  private firedMs: number;

  constructor(periodMs: number, firedMs: number) {
    this.periodMs = periodMs;
    this.firedMs = firedMs;
    this.spanMs = periodMs;
  }

  /** Call it when the timer fires. If periods were missed, the delay counts once for each of them. */
  fired(nowMs: number): void {
    this.spanMs = nowMs - this.firedMs;
    // All due timers run before sockets are read. If other timers fill the loop, requests are late although this timer
    // is on time, so the duration of the iteration counts too.
    const turnMs = this.turnFromMs === undefined ? this.turnMs : nowMs - this.turnFromMs;
    const waitMs = Math.max(0, this.spanMs - this.periodMs, turnMs);
    const periods = Math.max(1, this.spanMs / this.periodMs);
    this.averageMs += (waitMs - this.averageMs) * (1 - (1 - WEIGHT) ** periods);
    this.firedMs = nowMs;
    this.turnFromMs ??= nowMs;
  }

  /** Call it at the end of the timer's loop iteration. A second call in one iteration returns false. */
  turned(nowMs: number): boolean {
    if (this.turnFromMs === undefined) return false;
    this.turnMs = nowMs - this.turnFromMs;
    this.turnFromMs = undefined;
    return true;
  }

  /** The expected delay of an event that arrives now: the average, or how late the loop already is, if that is more. */
  waitMs(nowMs: number): number {
    const lateMs = nowMs - (this.turnFromMs ?? this.firedMs + this.periodMs);
    return Math.max(this.averageMs, lateMs);
  }

  /** How much time a reading covers if it is made now. */
  coveredMs(nowMs: number): number {
    return Math.max(this.spanMs, nowMs - this.firedMs);
  }
}
