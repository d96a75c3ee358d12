/** Tries other limits, algorithms and bursts on the requests of a limiter. */

import {
  createLimiter,
  fixedWindow,
  type RateAlgorithm,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { type JudgedLimiter, rangeOf, type Smallest, type Trial } from './report.js';
import type { RateNumbers, Tally } from './tally.js';

const ALGORITHMS = [tokenBucket, fixedWindow, slidingWindow, slidingLog];
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
  private readonly tally: Tally;
  private readonly numbers: RateNumbers;
  private readonly timings: readonly boolean[];
  private readonly own: Numbers;
  readonly use: JudgedLimiter['use'];
  /**
   * The most units of each caller in any interval of two windows. A limit of at least this number never rejects the
   * caller.
   */
  private readonly peaks: Units;

  constructor(tally: Tally, numbers: RateNumbers, isRange: boolean) {
    this.tally = tally;
    this.numbers = numbers;
    this.timings = isRange ? [true, false] : [false];
    const name = numbers.algorithm.split(':')[0];
    const algorithm = ALGORITHMS.find((one) => one.name === name) ?? tokenBucket;
    this.own = { algorithm, limit: numbers.limit, burst: numbers.burst ?? numbers.limit };
    const room = roomFor(tally);
    this.use = this.useOf(this.unitsPer(numbers.windowMs * 1_000, 1, room));
    // Each interval of two windows plus one second lies within two consecutive spans of this length. The timings differ
    // by at most that second.
    this.peaks = this.unitsPer(numbers.windowMs * 2_000 + 1_000_000, 2, room);
  }

  table(): Trial[] {
    const limits = new Set(FACTORS.map((factor) => scaled(this.own.limit, factor)));
    return [...limits].flatMap((limit) =>
      ALGORITHMS.map((algorithm) => this.trial({ ...this.withLimit(limit), algorithm })),
    );
  }

  smallest({ maxRejected, maxCallers }: Bounds): Smallest {
    const byRejected = [Math.floor(maxRejected * this.tally.trace.length), Infinity] as const;
    const byCallers = [Infinity, maxCallers] as const;
    const limit = (most: Rejected) =>
      smallestNumber(this.own.limit, (value) => this.keeps(this.withLimit(value), most));
    const burst = (most: Rejected) =>
      smallestNumber(this.own.burst, (value) =>
        this.keeps({ ...this.own, algorithm: tokenBucket, burst: value }, most),
      );
    return {
      maxRejected,
      maxCallers,
      limitByRejected: limit(byRejected),
      limitByCallers: limit(byCallers),
      burstByRejected: burst(byRejected),
      burstByCallers: burst(byCallers),
    };
  }

  private useOf(units: Units): JudgedLimiter['use'] {
    const callers = PERCENTS.map(() => 0);
    for (const most of units) {
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

  private keeps(numbers: Numbers, most: Rejected): boolean {
    return this.timings.every((atStart) => {
      const [requests, callers] = this.reject(numbers, atStart, most);
      return requests <= most[0] && callers <= most[1];
    });
  }

  /**
   * Decides the requests of callers that could be rejected, with the production algorithm. Stops when rejections exceed
   * `most`.
   */
  private reject(numbers: Numbers, atStart: boolean, most: Rejected): Rejected {
    const { peaks, tally } = this;
    const { algorithm, limit, burst } = numbers;
    const isBucket = algorithm === tokenBucket;
    const clock = new ManualClock(0);
    const anchor = this.numbers.algorithm.endsWith(':first-request') && algorithm === fixedWindow;
    const limiter = createLimiter(
      {
        limit,
        window: this.numbers.windowMs,
        algorithm,
        ...(isBucket && { burst }),
        ...(anchor && { anchor: 'first-request' }),
      },
      { clock, validate: false },
    );
    const passing = isBucket ? Math.min(limit, burst) : limit;
    const hit = new Uint8Array(tally.callers.size);
    let [requests, callers] = [0, 0];
    tally.trace.each(atStart, (caller, timeUs, cost) => {
      if ((peaks[caller] as number) <= passing) return true;
      clock.setUs(timeUs);
      if (limiter.consume(`${caller}`, { cost }).allowed) return true;
      requests += 1;
      if (hit[caller] === 0) callers += 1;
      hit[caller] = 1;
      return requests <= most[0] && callers <= most[1];
    });
    return [requests, callers];
  }

  /** The declared numbers, but with this limit. The burst changes in proportion. */
  private withLimit(limit: number): Numbers {
    return { ...this.own, limit, burst: scaled(this.own.burst, limit / this.own.limit) };
  }

  /** The most units of each caller in `spans` consecutive spans of this length. Reuses the arrays of `room`. */
  private unitsPer(spanUs: number, spans: 1 | 2, room: Room): Units {
    const { span, now, before, most } = room;
    for (const numbers of [now, before, most]) numbers.fill(0);
    span.fill(-2);
    this.tally.trace.each(false, (caller, timeUs, cost) => {
      // The number of the span, cut to 32 bits. Two spans with the same number are very far apart.
      const place = Math.floor(timeUs / spanUs) | 0;
      const last = span[caller] as number;
      if (place !== last) {
        before[caller] = place === last + 1 && spans === 2 ? (now[caller] as number) : 0;
        now[caller] = 0;
        span[caller] = place;
      }
      (now[caller] as number) += cost;
      const sum = (now[caller] as number) + (before[caller] as number);
      if (sum > (most[caller] as number)) most[caller] = sum;
      return true;
    });
    return most;
  }
}

type Units = Float64Array | Uint32Array;

/** For each caller, the number of its latest span, the units in that span and in the span before, and the maximum. */
interface Room {
  readonly span: Int32Array;
  readonly now: Units;
  readonly before: Units;
  readonly most: Units;
}

function roomFor({ callers: { size }, trace }: Tally): Room {
  const units = (): Units => (trace.hasCosts ? new Float64Array(size) : new Uint32Array(size));
  return { span: new Int32Array(size), now: units(), before: units(), most: units() };
}

function scaled(number: number, factor: number): number {
  return Math.min(MOST, Math.max(1, Math.round(number * factor)));
}

/** The smallest number for which `keeps` is true; null if there is none. Searches in halves, starting from `near`. */
function smallestNumber(near: number, keeps: (value: number) => boolean): number | null {
  let high = near;
  let low = 0;
  while (!keeps(high)) {
    if (high === MOST) return null;
    low = high;
    high = Math.min(MOST, high * 2);
  }
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (keeps(middle)) high = middle;
    else low = middle;
  }
  return high;
}
