/**
 * Decides from the remaining units in responses when a quota of the server is spent, and for how long to pause.
 *
 * Many processes call the server, and none of them sees the responses of the others. So four corrections are applied to
 * what a response states.
 *
 * 1. *Calls that the response does not count yet.* While the response was in flight, the shaper started other calls: at
 *    most one per period, and fewer than `maxConcurrent`. More calls start until all processes know about a pause. The
 *    quota counts as spent when these calls can use all remaining units.
 * 2. *Time in flight.* The server counts a call when it arrives, and then works on it. The fastest call so far shows
 *    the latency of the network. If this call took longer, the difference is subtracted from the time that the response
 *    states.
 * 3. *Rounded seconds.* Headers state whole seconds: a window of one second always states `t=1`. A client that waits a
 *    whole second after the last unit of each window uses only half of the quota. But the shaper starts at most one
 *    call per period: if a response shows 9 more used units than the first response of its window, at least 9 periods
 *    of the window have passed. The wait is shortened by that time, but by no more than rounding can have added: one
 *    second, or two seconds between two dates.
 * 4. *The pace is a wait, too.* At its own pace, the shaper may need the rest of the window to use up the remaining
 *    units and start one more call. Then no pause is needed. So a shaper with the pace of the server is not slowed down
 *    at the end of each window.
 *
 * The third correction is slightly wrong if calls arrive late, and very wrong if other clients use the same quota or if
 * a call costs several units. Then the server rejects calls. One rejection can be bad luck. After a second one within
 * thirty windows, a margin of a quarter of a period is added to each wait, for thirty windows. Each rejection in that
 * time makes the margin four times as long, up to the wait that the response states, and restarts the thirty windows.
 * If the next rejection comes soon after they end, the margin lasts for sixty windows, and so on.
 */

import type { Remaining } from './response-headers.js';

/** The start and end of one call, in milliseconds of one clock. */
export interface RoundTrip {
  readonly startMs: number;
  readonly endMs: number;
}

/** The largest values that responses have stated for a limit. */
interface Maximum {
  readonly units: number;
  readonly seconds: number;
}

interface SpentQuota {
  readonly pauseMs: number;
  /** The remaining units of the quota. Calls in flight may still use them. */
  readonly units: number;
}

/** At most this many limits of a response are used. */
const MAX_LIMITS = 8;

/**
 * If two rejections come within the minimum number of windows, each wait gets a margin for as many windows. If
 * rejections keep coming, this time doubles, up to the maximum.
 */
const MIN_MARGIN_WINDOWS = 30;
const MAX_MARGIN_WINDOWS = 1000;

/** The first margin, in periods. Each further rejection multiplies the margin by the factor. */
const FIRST_MARGIN = 1 / 4;
const MARGIN_FACTOR = 4;

/** What the responses for one key have stated. */
export class Quota {
  private maxima = new Map<string, Maximum>();
  private fastestMs = Number.POSITIVE_INFINITY;
  private rejectedMs = Number.NEGATIVE_INFINITY;
  /** Until when waits get the margin; without a margin, the time of the last rejection. */
  private marginEndMs = Number.NEGATIVE_INFINITY;
  private marginLastsMs = 0;
  private margin = FIRST_MARGIN;

  /** Call it after a rejection, which can mean that a pause was too short. */
  addRejection({ startMs, endMs }: RoundTrip): void {
    // Calls that were in flight together count as one rejection.
    if (startMs < this.rejectedMs || this.maxima.size === 0) return;
    this.rejectedMs = endMs;
    const sinceMs = endMs - this.marginEndMs;
    if (sinceMs < 0) {
      this.margin *= MARGIN_FACTOR;
      this.marginEndMs = endMs + this.marginLastsMs;
      return;
    }
    const seconds = [...this.maxima.values()].map((one) => one.seconds);
    const windowMs = 1000 * Math.max(...seconds);
    const minMs = MIN_MARGIN_WINDOWS * windowMs;
    const isFrequent = sinceMs < minMs + this.marginLastsMs;
    const maxMs = MAX_MARGIN_WINDOWS * windowMs;
    const nextMs = Math.max(minMs, Math.min(2 * this.marginLastsMs, maxMs));
    if (!isFrequent) this.margin = FIRST_MARGIN;
    this.marginLastsMs = isFrequent ? nextMs : 0;
    this.marginEndMs = endMs + this.marginLastsMs;
  }

  /**
   * Returns the longest pause that a spent limit requires; undefined if no limit requires one.
   *
   * @param propagationMs for how long after the response other processes may start calls, because they don't know the
   * pause yet
   * @param others the largest number of other calls that may be in flight
   */
  update(
    remaining: readonly Remaining[],
    trip: RoundTrip,
    periodMs: number,
    propagationMs: number,
    others: number,
  ): SpentQuota | undefined {
    const tripMs = trip.endMs - trip.startMs;
    this.fastestMs = Math.min(this.fastestMs, tripMs);
    if (remaining.length === 0) return undefined; // without such headers, the state is kept
    const uncounted = Math.min(Math.floor((tripMs + propagationMs) / periodMs), others);
    // Names that are not in this response are dropped, so a server that invents names does not fill the memory.
    const maxima = new Map<string, Maximum>();
    let spent: SpentQuota | undefined;
    for (const one of remaining.slice(0, MAX_LIMITS)) {
      const maximum = this.maximumWith(one);
      maxima.set(one.name, maximum);
      if (one.units > uncounted) continue;
      const waitMs = this.waitMs(one, maximum, trip, periodMs);
      if (waitMs <= (one.units + 1) * periodMs) continue;
      const pauseMs = trip.startMs + this.fastestMs + waitMs - trip.endMs;
      if (pauseMs > (spent?.pauseMs ?? 0)) spent = { pauseMs, units: one.units };
    }
    this.maxima = maxima;
    return spent;
  }

  private maximumWith({ name, units, seconds, limit = 0 }: Remaining): Maximum {
    const before = this.maxima.get(name);
    return {
      // The response to the first call of a window states one unit less than the limit.
      units: Math.max(units, before?.units ?? 0, limit - 1),
      seconds: Math.max(seconds, before?.seconds ?? 0),
    };
  }

  /** How long to wait from the moment at which the server counted the call. */
  private waitMs(
    { units, seconds, excess }: Remaining,
    maximum: Maximum,
    { endMs }: RoundTrip,
    periodMs: number,
  ): number {
    const statedMs = seconds * 1000;
    // If a window lasts whole seconds, its first response states the whole window.
    const windowMs = (maximum.seconds - (excess - 1)) * 1000;
    const usedMs = (maximum.units - units) * periodMs;
    const restMs = Math.max(statedMs - excess * 1000, windowMs - usedMs);
    const marginMs = endMs < this.marginEndMs ? this.margin * periodMs : 0;
    return Math.min(statedMs, restMs + marginMs);
  }
}
