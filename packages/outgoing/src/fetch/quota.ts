/**
 * When a quota of the other side is spent, and for how long, from what its answers say is left.
 *
 * Many processes call, and none sees the answers of the others. So each answer is read with four thoughts.
 *
 * 1. *Calls that the answer does not count yet.* While it was on its way the shaper let others start, at most one a
 *    period, and so it will until a pause is heard: who is about to start has looked already. So the quota is spent
 *    when what is left is not more than these.
 * 2. *Time that the answer was on its way.* A server counts a call when it comes, then works. The quickest call so far
 *    tells what the way takes; what this one took longer is gone from the time it names.
 * 3. *Seconds that were rounded up.* A window of one second always says `t=1`, and who waits a second after the last
 *    unit of each window uses half of the quota. But units are spent no faster than the shaper lets calls start. So
 *    when 9 of 10 units more were spent than in the first answer of a window, at least 9 periods of it are over. The
 *    wait is shortened by that, never by more than rounding may have added: a second, or two between two dates.
 * 4. *The pace is a wait, too.* If it takes the rest of the window to spend what is left and one unit more, there is
 *    nothing to pause. So a shaper with the pace of the other side is not slowed down by the end of each window.
 *
 * The third is wrong by a little where calls come late, and by much where others than this fleet spend the quota too,
 * or where a call costs several units. Then calls are refused. One may be bad luck. After the second in thirty windows
 * the wait is a quarter of a period longer, for thirty windows. Each refusal meanwhile makes that four times as long,
 * until it is what the answer says, and begins the thirty anew. If the next one comes soon after these windows, all
 * this holds for sixty, and so on.
 */

import type { Left } from './rate-limit-fields.js';

/** One call, in milliseconds of one clock. */
export interface Trip {
  readonly startMs: number;
  readonly endMs: number;
}

/** The most that was ever told of a limit: how many units, for how many seconds. */
interface Most {
  readonly units: number;
  readonly seconds: number;
}

/** A quota that is spent. */
interface Spent {
  readonly pauseMs: number;
  /** Units that are left for calls on the wire, if there are such calls. */
  readonly units: number;
}

/** Of what an answer tells, only this many limits are looked at. */
const MAX_LIMITS = 8;

/** For how many windows the wait is longer after two refusals, and how close these must be. */
const LEAST_CAREFUL = 30;
const MOST_CAREFUL = 1000;

/** How much longer it is at first, in periods, and the factor for each refusal more. */
const LEAST_MARGIN = 1 / 4;
const MORE_MARGIN = 4;

/** What the answers to the calls of one key have told. */
export class Quota {
  private most = new Map<string, Most>();
  private quickestMs = Number.POSITIVE_INFINITY;
  /** When the last refusal came, and, if later, when the careful time after it ends. */
  private refusedMs = Number.NEGATIVE_INFINITY;
  private quietSinceMs = Number.NEGATIVE_INFINITY;
  private carefulMs = 0;
  /** In periods. */
  private margin = LEAST_MARGIN;

  /** To be told of each refusal: it may show that a pause was too short. */
  refused({ startMs, endMs }: Trip): void {
    // Of calls that were on the wire together, one counts.
    if (startMs < this.refusedMs || this.most.size === 0) return;
    this.refusedMs = endMs;
    const quietMs = endMs - this.quietSinceMs;
    if (quietMs < 0) {
      this.margin *= MORE_MARGIN;
      this.quietSinceMs = endMs + this.carefulMs;
      return;
    }
    const windowMs = 1000 * Math.max(...[...this.most.values()].map(({ seconds }) => seconds));
    const leastMs = LEAST_CAREFUL * windowMs;
    const isOften = quietMs < leastMs + this.carefulMs;
    const nextMs = Math.max(leastMs, Math.min(2 * this.carefulMs, MOST_CAREFUL * windowMs));
    if (!isOften) this.margin = LEAST_MARGIN;
    this.carefulMs = isOften ? nextMs : 0;
    this.quietSinceMs = endMs + this.carefulMs;
  }

  /**
   * What is to wait, if a limit is spent: of several the longest time. `deafMs`: how long after the answer a call may
   * still start, because it has not heard of a pause.
   */
  spentBy(left: readonly Left[], trip: Trip, periodMs: number, deafMs: number): Spent | undefined {
    const tripMs = trip.endMs - trip.startMs;
    this.quickestMs = Math.min(this.quickestMs, tripMs);
    if (left.length === 0) return undefined; // not every answer has the fields: what is known stays
    const uncounted = Math.floor((tripMs + deafMs) / periodMs);
    const most = new Map<string, Most>();
    let spent: Spent | undefined;
    for (const one of left.slice(0, MAX_LIMITS)) {
      const known = this.learn(one);
      most.set(one.name, known);
      if (one.units > uncounted) continue;
      const waitMs = this.waitOf(one, known, trip, periodMs);
      if (waitMs <= (one.units + 1) * periodMs) continue;
      const pauseMs = trip.startMs + this.quickestMs + waitMs - trip.endMs;
      if (pauseMs > (spent?.pauseMs ?? 0)) spent = { pauseMs, units: one.units };
    }
    // Only names that were in the last answer are kept: a server that invents new ones fills no memory.
    this.most = most;
    return spent;
  }

  private learn({ name, units, seconds, limit = 0 }: Left): Most {
    const before = this.most.get(name);
    return {
      // The first call of a window is told of one unit less than there are.
      units: Math.max(units, before?.units ?? 0, limit - 1),
      seconds: Math.max(seconds, before?.seconds ?? 0),
    };
  }

  /** From the moment when the server counted the call. */
  private waitOf(
    { units, seconds, excess }: Left,
    most: Most,
    { endMs }: Trip,
    periodMs: number,
  ): number {
    const toldMs = seconds * 1000;
    // The first answer of a window that lasts whole seconds was told this.
    const windowMs = (most.seconds - (excess - 1)) * 1000;
    const restMs = Math.max(toldMs - excess * 1000, windowMs - (most.units - units) * periodMs);
    const marginMs = endMs < this.quietSinceMs ? this.margin * periodMs : 0;
    return Math.min(toldMs, restMs + marginMs);
  }
}
