/** Tries other limits, algorithms and bursts on the requests of a limiter. */

import { memoryStore, type RateAlgorithm, tokenBucket } from '@spillway/core';
import { capacityOf, type Step } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { ALGORITHMS } from './algorithms.js';
import { type JudgedLimiter, rangeOf, type Smallest, type Trial } from './report.js';
import type { RateNumbers, Tally } from './tally.js';
import type { Trace } from './trace.js';

/** The limits of the table, as multiples of the declared one. */
const FACTORS = [0.5, 1, 2, 4];
/** The upper ends of the rows of `use`, in percent of the limit. The picture shows each row as a bar. */
const PERCENTS = [10, 25, 50, 75, 100, 150, 200, 400, null];
const MOST = 1_000_000_000;

export interface Bounds {
  /** A share of the requests, 0 to 1. */
  readonly maxRejected: number;
  readonly maxCallers: number;
}

/** @param isRange whether both timings must be tried */
export function tryOthers(
  tally: Tally,
  numbers: RateNumbers,
  isRange: boolean,
  bounds: Bounds,
): Pick<JudgedLimiter, 'use' | 'table' | 'smallest'> {
  const trials = new Trials(tally, numbers, isRange);
  return { use: trials.use, table: trials.table(), smallest: trials.smallest(bounds) };
}

interface Numbers {
  readonly algorithm: RateAlgorithm;
  readonly limit: number;
  readonly burst: number;
}

type Rejected = readonly [requests: number, callers: number];

class Trials {
  private readonly requests: Trace;
  private readonly starts: Uint32Array;
  private readonly numbers: RateNumbers;
  private readonly timings: readonly boolean[];
  private readonly own: Numbers;
  readonly use: JudgedLimiter['use'];
  /**
   * An upper bound of the units of each caller in any interval of two windows. A limit of at least this number never
   * rejects the caller.
   */
  private readonly peaks: Float64Array;
  /**
   * The callers whose peak is above 1 unit, those with the highest peak first. No limit rejects the other callers,
   * because a limit is at least 1.
   */
  private readonly busiest: Uint32Array;

  constructor({ callers, trace }: Tally, numbers: RateNumbers, isRange: boolean) {
    this.starts = trace.sortByCaller(callers.size);
    this.requests = trace;
    this.numbers = numbers;
    this.timings = isRange ? [true, false] : [false];
    const name = numbers.algorithm.split(':')[0];
    const algorithm = ALGORITHMS.find((one) => one.name === name) ?? tokenBucket;
    this.own = { algorithm, limit: numbers.limit, burst: numbers.burst ?? numbers.limit };
    this.use = this.useOf();
    // Each interval of two windows plus one second lies within two consecutive spans of this length. The timings differ
    // by at most that second.
    const spanUs = numbers.windowMs * 2_000 + 1_000_000;
    const peaks = Float64Array.from({ length: callers.size }, (_, caller) =>
      this.mostUnits(caller, spanUs, 2),
    );
    this.peaks = peaks;
    const isBusy = (peak: number): boolean => peak > 1;
    // Counted first: a list of all callers would take more memory than their peaks.
    this.busiest = new Uint32Array(peaks.reduce((sum, peak) => sum + Number(isBusy(peak)), 0));
    let place = 0;
    for (let caller = 0; caller < peaks.length; caller += 1) {
      if (!isBusy(peaks[caller] as number)) continue;
      this.busiest[place] = caller;
      place += 1;
    }
    this.busiest.sort((a, b) => (peaks[b] as number) - (peaks[a] as number));
  }

  table(): Trial[] {
    const limits = new Set(FACTORS.map((factor) => scaled(this.own.limit, factor)));
    return [...limits].flatMap((limit) =>
      ALGORITHMS.map((algorithm) => this.trial({ ...this.withLimit(limit), algorithm })),
    );
  }

  smallest({ maxRejected, maxCallers }: Bounds): Smallest {
    const byRejected = [Math.floor(maxRejected * this.requests.length), Infinity] as const;
    const byCallers = [Infinity, maxCallers] as const;
    const limit = (most: Rejected) =>
      smallestNumber(this.own.limit, this.own.limit, (value) =>
        this.keeps(this.withLimit(value), most),
      );
    const needs = this.timings.map((atStart) => this.burstsNeeded(atStart));
    const burst = (most: Rejected, near: number, step: number) =>
      smallestNumber(near, step, (value) =>
        this.keeps({ ...this.own, algorithm: tokenBucket, burst: value }, most, needs),
      );
    // `enough` suffices for every caller, and `likely` for all but `maxCallers` callers.
    const sorted = needs.map((bursts) => bursts.toSorted());
    const [enough, likely] = [1, maxCallers + 1].map((rank) =>
      clamped(Math.ceil(Math.max(...sorted.map((bursts) => bursts.at(-rank) ?? 1)))),
    ) as [number, number];
    return {
      maxRejected,
      maxCallers,
      limitByRejected: limit(byRejected),
      limitByCallers: limit(byCallers),
      burstByRejected: burst(byRejected, enough, enough),
      burstByCallers: burst(byCallers, likely, 1),
    };
  }

  private useOf(): JudgedLimiter['use'] {
    const callers = PERCENTS.map(() => 0);
    for (let caller = 0; caller < this.starts.length - 1; caller += 1) {
      const most = this.mostUnits(caller, this.numbers.windowMs * 1_000, 1);
      const percent = (100 * most) / this.own.limit;
      const place = PERCENTS.findIndex((bound) => bound === null || percent <= bound);
      (callers[place] as number) += 1;
    }
    return PERCENTS.map((percent, place) => ({ percent, callers: callers[place] as number }));
  }

  private trial(numbers: Numbers): Trial {
    const none: Rejected = [Infinity, Infinity];
    const results = this.timings.map((atStart) => this.reject(numbers, atStart, none));
    const [first, last] = [results[0] as Rejected, results.at(-1) as Rejected];
    return {
      algorithm: numbers.algorithm.name,
      limit: numbers.limit,
      ...(numbers.algorithm === tokenBucket && { burst: numbers.burst }),
      rejected: rangeOf([first[0], last[0]]),
      rejectedCallers: rangeOf([first[1], last[1]]),
    };
  }

  /** @param needs the result of {@link burstsNeeded} for each timing */
  private keeps(numbers: Numbers, most: Rejected, needs?: readonly Float64Array[]): boolean {
    return this.timings.every((atStart, timing) => {
      const [requests, callers] = this.reject(numbers, atStart, most, needs?.[timing]);
      return requests <= most[0] && callers <= most[1];
    });
  }

  /**
   * Counts the requests and the callers that the limiter would reject. Stops when one of these two numbers exceeds
   * `most`. All callers use the same entry of the store, one caller after the other, and the entry is reset in between.
   * This is twice as fast as looking up an entry for each request.
   */
  private reject(
    { algorithm, limit, burst }: Numbers,
    atStart: boolean,
    most: Rejected,
    needs?: Float64Array,
  ): Rejected {
    const { requests, starts } = this;
    const windowUs = this.numbers.windowMs * 1_000;
    const anchor = this.numbers.algorithm.endsWith(':first-request') ? 'first-request' : 'epoch';
    const rule = algorithm.makeRule(limit, windowUs, burst, anchor);
    // The burst of a long window may be smaller than asked for.
    const capacity = capacityOf(rule);
    const passing = Math.min(limit, capacity);
    const clock = new ManualClock(0);
    const store = memoryStore({ clock });
    const take: Writable<Step> = {
      op: 'take',
      limiter: 'trial',
      key: 'caller',
      rule,
      cost: 1,
      binding: true,
    };
    const takes = [take];
    const reset: Step[] = [{ ...take, op: 'reset', cost: 0 }];
    let [rejected, callers] = [0, 0];
    for (const [rank, caller] of this.busiest.entries()) {
      if ((this.peaks[caller] as number) <= passing) break;
      // The margin is for rounding.
      if (needs && (needs[rank] as number) * (1 + 1e-9) <= capacity) continue;
      let isHit = false;
      const end = starts[caller + 1] as number;
      for (let at = starts[caller] as number; at < end; at += 1) {
        clock.setUs(requests.timeUs(at, atStart));
        take.cost = requests.cost(at);
        if (store.apply(takes)[0]?.allowed) continue;
        rejected += 1;
        if (!isHit) callers += 1;
        isHit = true;
        if (rejected > most[0] || callers > most[1]) return [rejected, callers];
      }
      store.apply(reset);
    }
    return [rejected, callers];
  }

  /**
   * For each of the {@link busiest}, the smallest burst with which a token bucket of the declared limit rejects
   * nothing. This is the highest level that a leaky bucket reaches if it takes all requests of the caller. Rounding
   * makes the result inexact.
   */
  private burstsNeeded(atStart: boolean): Float64Array {
    const { requests, starts } = this;
    const perUs = this.own.limit / (this.numbers.windowMs * 1_000);
    const bursts = new Float64Array(this.busiest.length);
    for (const [rank, caller] of this.busiest.entries()) {
      let [level, lastUs, most] = [0, 0, 0];
      const end = starts[caller + 1] as number;
      for (let at = starts[caller] as number; at < end; at += 1) {
        const timeUs = requests.timeUs(at, atStart);
        level = Math.max(0, level - (timeUs - lastUs) * perUs) + requests.cost(at);
        lastUs = timeUs;
        if (level > most) most = level;
      }
      bursts[rank] = most;
    }
    return bursts;
  }

  /** The declared numbers, but with this limit. The burst changes in proportion. */
  private withLimit(limit: number): Numbers {
    return { ...this.own, limit, burst: scaled(this.own.burst, limit / this.own.limit) };
  }

  /** The most units of a caller in `spans` consecutive spans of this length. */
  private mostUnits(caller: number, spanUs: number, spans: 1 | 2): number {
    const { requests, starts } = this;
    let [span, before, now, most] = [-2, 0, 0, 0];
    const end = starts[caller + 1] as number;
    for (let at = starts[caller] as number; at < end; at += 1) {
      const place = Math.floor(requests.timeUs(at, false) / spanUs);
      if (place !== span) {
        before = place === span + 1 && spans === 2 ? now : 0;
        now = 0;
        span = place;
      }
      now += requests.cost(at);
      if (now + before > most) most = now + before;
    }
    return most;
  }
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

function scaled(number: number, factor: number): number {
  return clamped(Math.round(number * factor));
}

function clamped(number: number): number {
  return Math.min(MOST, Math.max(1, number));
}

/**
 * The smallest number for which `keeps` is true; null if there is none. The search moves away from `near` in growing
 * steps, and then halves the interval.
 */
function smallestNumber(
  near: number,
  step: number,
  keeps: (value: number) => boolean,
): number | null {
  let [low, high] = [0, near];
  if (keeps(near)) {
    for (let by = step; low === 0 && high > by; by *= 2) {
      if (keeps(high - by)) high -= by;
      else low = high - by;
    }
  } else {
    let by = step;
    do {
      if (high === MOST) return null;
      low = high;
      high = Math.min(MOST, high + by);
      by *= 2;
    } while (!keeps(high));
  }
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (keeps(middle)) high = middle;
    else low = middle;
  }
  return high;
}
