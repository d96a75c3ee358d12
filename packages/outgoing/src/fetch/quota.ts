/**
 * Decides from the remaining units in responses when a quota of the server is spent, and for how long to pause.
 *
 * This process does not see the responses to other processes, so it corrects what a response states:
 *
 * 1. *Calls that the response does not count yet.* While the response was in flight, the shaper started other calls: at
 *    most one per period, and fewer than `maxConcurrent`. More calls start until all processes know about a pause. The
 *    quota counts as spent when these calls can use all remaining units.
 * 2. *Time in flight.* The fastest call so far shows the latency of the network. If the call of this response took
 *    longer, the difference is subtracted from the time that the response states.
 * 3. *Rounded seconds.* Headers state whole seconds, so a client that waits as stated wastes a part of each window. But
 *    the shaper starts at most one call per period: if a response shows 9 more used units than the first response of
 *    its window, at least 9 periods of the window have passed. The shaper then waits only for the rest of the window,
 *    but at least for the stated wait minus one second (minus two if it is the difference of two dates in seconds).
 * 4. *The pace is a wait, too.* At its own pace, the shaper needs some time to start the calls for the remaining units
 *    and one more. If the window ends within that time, no pause is needed.
 *
 * The third correction is wrong if other clients use the same quota, if a call costs several units, or if the shaper
 * has a `burst` above 1. Then the server rejects calls. After a second rejection within thirty windows, each wait gets
 * a margin for thirty windows. Each rejection in that time multiplies the margin, and the time begins again.
 */

import type { Remaining } from './response-headers.js';

export interface RoundTrip {
  readonly startMs: number;
  readonly endMs: number;
}

interface Maximum {
  readonly units: number;
  readonly seconds: number;
}

interface SpentQuota {
  readonly pauseMs: number;
  readonly units: number;
}

const MAX_LIMITS = 8;

/**
 * After a second rejection within this many windows, waits get a margin for the same number of windows. If the next
 * rejection comes soon after that, the number doubles, up to the maximum.
 */
const MIN_MARGIN_WINDOWS = 30;
const MAX_MARGIN_WINDOWS = 1000;

/** The first margin, in periods. Each rejection while a margin applies multiplies it by the factor. */
const FIRST_MARGIN = 1 / 4;
const MARGIN_FACTOR = 4;

export class Quota {
  private maxima = new Map<string, Maximum>();
  private fastestMs = Number.POSITIVE_INFINITY;
  private rejectedMs = Number.NEGATIVE_INFINITY;
  /** Waits get the margin until this time. Without a margin, this is the time of the last rejection. */
  private marginEndMs = Number.NEGATIVE_INFINITY;
  private marginLastsMs = 0;
  private margin = FIRST_MARGIN;

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
   * @param propagationMs how long other processes may go on starting calls, because they don't know the pause yet
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
