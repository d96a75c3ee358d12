/**
 * How overloaded the loop is, in marks: the drift of its timer, as far as it is the process's own work; or how
 * long connections have been waiting to be accepted; 0 while it has little to do.
 */

import { TimerDrift } from './drift.js';
import type { LoopTimes } from './host.js';

/**
 * Below this utilization a late loop is not overloaded: other processes had the CPU, and rejecting would not help. A
 * server with ten requests a second beside two busy neighbours (nice -10, 5 % of a core left) rejected 53 of 60 without
 * this check and 12 with it; stopped for 40 ms of each 60 ms, 44 and 0.
 */
const BUSY = 0.5;
/**
 * The memory of the averages: one interrupted request does not fill it, an overload does in 350 ms. Requests rejected
 * beside two neighbours: 4.6 % with 100 ms, 5.2 % with 250 ms, 1.2 % with 500 ms. With 1 s there were none, but an
 * overload that met an idle loop cost a tenth of the critical requests.
 */
const MEMORY_MS = 500;
/** A loop was without a pause if it was idle for less than this part: asking the system for events takes time too. */
const PAUSE = 0.01;
/**
 * A loop that has had connections to accept for so long, without a pause, is at its mark, however short its turns: they
 * wait in the kernel, where no timer sees them. Without it, of 453 requests a second on new connections none was served
 * in time.
 */
const ACCEPTING_MS = 400;
/** The least part of a wait that counts: a loop that blocks on a disk is overloaded too, without the processor. */
const LEAST_SHARE = 0.5;

export class WaitMeter {
  private readonly drift: TimerDrift;
  /** The part of the time in which the loop was busy; undefined as long as the host has counted nothing. */
  private utilization: number | undefined;
  /** The part of its busy time in which the loop had the processor. */
  private share = 1;
  private times: LoopTimes | undefined;
  private turnTimes: LoopTimes | undefined;
  /** Connections that were accepted before the turn in which the timer fired; undefined between turns. */
  private acceptedBefore: number | undefined;
  /** When the loop last came round after a time with a pause, or without a new connection. */
  private noQueueMs: number;

  constructor(periodMs: number, nowMs: number, times: LoopTimes | undefined) {
    this.times = times;
    this.turnTimes = times;
    this.noQueueMs = nowMs;
    this.drift = new TimerDrift(periodMs, nowMs);
  }

  /** The timer fired. */
  fired(nowMs: number, times: LoopTimes | undefined): void {
    this.drift.fired(nowMs);
    this.acceptedBefore ??= times?.accepted;
    const since = spanOf(this.times, times);
    this.utilization = this.utilizationAt(since);
    this.share = this.shareAt(since);
    this.times = times;
  }

  /** The loop has come round: it has read its sockets. */
  turned(nowMs: number, times: LoopTimes | undefined): void {
    if (!this.drift.turned(nowMs)) return;
    const since = spanOf(this.turnTimes, times);
    // Of this turn alone: in the many turns of a period, connections come that did not wait.
    const hasAccepted = (times?.accepted ?? 0) > (this.acceptedBefore ?? 0);
    this.acceptedBefore = undefined;
    const isQueue = since && hasAccepted && since.idleMs < PAUSE * since.totalMs;
    if (!isQueue) this.noQueueMs = nowMs;
    this.turnTimes = times;
  }

  /**
   * What an event that arrives now waits, as far as refusing others would shorten it. Connections that the process has
   * not accepted yet wait where no timer sees them. But while any do, the loop accepts one in each of its turns, as
   * libuv does since 1.45, and never pauses.
   */
  value(nowMs: number, times: LoopTimes | undefined, markMs: number): number {
    const since = spanOf(this.times, times);
    const utilization = this.utilizationAt(since);
    if (utilization !== undefined && utilization < BUSY) return 0;
    const waitMs = this.drift.waitMs(nowMs) * Math.max(this.shareAt(since), LEAST_SHARE);
    return Math.max(waitMs / markMs, (nowMs - this.noQueueMs) / ACCEPTING_MS);
  }

  /** How long a time the newest wait speaks of. */
  coveredMs(nowMs: number): number {
    return this.drift.coveredMs(nowMs);
  }

  private utilizationAt(since: Span | undefined): number | undefined {
    if (!since) return this.utilization;
    const part = since.activeMs / since.totalMs;
    return faded(this.utilization ?? 0, part, since.totalMs);
  }

  private shareAt(since: Span | undefined): number {
    if (!since || Number.isNaN(since.cpuMs) || !(since.activeMs > 0)) return this.share;
    // More than 1 where other threads are counted too, or the processor time of a wait for events.
    return faded(this.share, Math.min(1, since.cpuMs / since.activeMs), since.activeMs);
  }
}

/** What the host has counted in a time; `cpuMs` is NaN where it does not count that. */
interface Span {
  readonly activeMs: number;
  readonly idleMs: number;
  readonly totalMs: number;
  readonly cpuMs: number;
}

/** Undefined if the host has counted nothing. */
function spanOf(from: LoopTimes | undefined, to: LoopTimes | undefined): Span | undefined {
  if (!from || !to) return undefined;
  const activeMs = to.active - from.active;
  const idleMs = to.idle - from.idle;
  const totalMs = activeMs + idleMs;
  if (!(totalMs > 0)) return undefined;
  const cpuMs = (to.cpu ?? Number.NaN) - (from.cpu ?? Number.NaN);
  return { activeMs, idleMs, totalMs, cpuMs };
}

/** An exponential average that has been `part` for so long. */
function faded(before: number, part: number, forMs: number): number {
  return before + (part - before) * (1 - Math.exp(-forMs / MEMORY_MS));
}
