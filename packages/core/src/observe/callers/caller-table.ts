/**
 * The callers of one limiter in one slice of time. The first 50,000 requests are all counted. Of later requests, only a
 * random sample is counted, so that counting costs least in a flood. Counts from the sample are given as confidence
 * intervals.
 */

import type { CallerList } from './caller-list.js';
import { SpaceSaving } from './space-saving.js';

const ALL_COUNTED = 50_000;

/** The sample contains one in this many requests. */
const ONE_OF = 64;

/** The half width of the intervals, in standard deviations: at most one of about 15,000 counts is outside. */
const DEVIATIONS = 4;

export class CallerTable {
  total = 0;
  private readonly all = new SpaceSaving();
  private readonly sample = new SpaceSaving();
  private nextCounted = 0;
  private readonly random: () => number;

  constructor(random: () => number) {
    this.random = random;
  }

  add(key: string | undefined): void {
    this.total += 1;
    if (this.total < this.nextCounted) return;
    if (this.nextCounted > 0) this.sample.add(key);
    else this.all.add(key);
    // Each request has the same chance, whatever came before, so that no client can send between those counted.
    if (this.total >= ALL_COUNTED) {
      this.nextCounted =
        this.total + 1 + Math.floor(Math.log(1 - this.random()) / Math.log(1 - 1 / ONE_OF));
    }
  }

  /** How many of the next requests are outside the sample: they need only be added to the total. */
  get toSkip(): number {
    return Math.max(0, this.nextCounted - this.total - 1);
  }

  lists(): CallerList[] {
    const all = this.all.list();
    if (this.total === all.total) return [all];
    const { callers, othersAtMost } = this.sample.list();
    const total = this.total - all.total;
    const estimated = {
      total,
      callers: callers.map(({ caller, atLeast, atMost }) => {
        return { caller, atLeast: lowest(atLeast), atMost: Math.min(total, highest(atMost)) };
      }),
      othersAtMost: Math.min(total, highest(othersAtMost)),
    };
    return [all, estimated];
  }
}

/** Returns a lower bound of a caller's requests, `count` of which are in the sample. */
function lowest(count: number): number {
  return count === 0 ? 0 : Math.max(count, Math.floor(ONE_OF * poissonMean(count, -DEVIATIONS)));
}

/** Returns an upper bound of a caller's requests, at most `count` of which are in the sample. */
function highest(count: number): number {
  return Math.ceil(ONE_OF * poissonMean(count + 1, DEVIATIONS));
}

/**
 * Returns one end of the confidence interval for the mean of a Poisson variable whose value is `count`: the lower end
 * if `deviations` is negative. Uses the approximation of E. B. Wilson and M. M. Hilferty ("The distribution of
 * chi-square", 1931). With 4 deviations, this interval is never narrower than the exact interval of a binomial sample.
 * The score interval and the normal approximation are too narrow for small counts.
 */
function poissonMean(count: number, deviations: number): number {
  const root = 1 - 1 / (9 * count) + deviations / (3 * Math.sqrt(count));
  return count * Math.max(0, root) ** 3;
}
