/** How a part of a store has answered in the last seconds, and whether a late answer is the store's fault or ours. */

import type { Clock } from '../base/clock.js';
import { afterIdly, endsTimersWithRequests } from '../base/host.js';

/** Calls are judged over so many buckets of a second. */
export const WINDOW_SECONDS = 10;

/** Fewer calls than this say nothing about the store. */
const LEAST_CALLS = 20;

/** Seconds with slow calls: one pause of up to two seconds, such as a fork of Redis to save its data, has fewer. */
const LEAST_SLOW_SECONDS = 4;

/** The usual latency is that of so many seconds, one call of each: a minute in which calls came all the time. */
const SAMPLES = 60;

/** Until then it is that of the first seconds of the process. */
const FIRST_SAMPLES = 10;

/** By default, a call is slow if it takes so much longer than usual. */
const MARGIN_US = 10_000;

/** Where calls are counted in their bucket, beside all calls at 0. */
export const HEALTHY = 0;
export const FAILED = 1;
export const SLOW = 2;

/** What is wrong with a part, and how many calls showed it. */
interface Diagnosis {
  readonly isSlow: boolean;
  readonly bad: number;
  readonly calls: number;
}

export class Health {
  /** A call that takes longer is slow; Infinity until the usual latency is known. */
  slowUs: number = Infinity;
  /** Calls, failed calls and slow calls of each second. */
  private readonly counts: number[] = new Array(3 * WINDOW_SECONDS).fill(0);
  private second = 0;
  private samples: number[] = [];

  /** Counts a call that has ended; true for the first of a second. */
  count(nowUs: number, outcome: typeof HEALTHY | typeof FAILED | typeof SLOW, tookUs = 0): boolean {
    const { counts } = this;
    const second = Math.max(this.second, Math.floor(nowUs / 1_000_000));
    const isFirst = second > this.second;
    if (isFirst) {
      const from = Math.max(this.second + 1, second - WINDOW_SECONDS + 1);
      for (let i = from; i <= second; i += 1) counts.fill(0, bucketOf(i), bucketOf(i) + 3);
      this.second = second;
      if (outcome !== FAILED) this.learn(tookUs);
    }
    const at = bucketOf(second);
    counts[at] = (counts[at] as number) + 1;
    if (outcome) counts[at + outcome] = (counts[at + outcome] as number) + 1;
    return isFirst;
  }

  /** @param isRelapse if true, a short pause is enough: the part was slow a moment ago */
  diagnose(isRelapse: boolean): Diagnosis | undefined {
    let calls = 0;
    let failed = 0;
    let slow = 0;
    let slowSeconds = 0;
    for (let at = 0; at < this.counts.length; at += 3) {
      const [made, lost, late] = this.counts.slice(at, at + 3) as [number, number, number];
      calls += made;
      failed += lost;
      slow += late;
      if (late > 0) slowSeconds += 1;
    }
    if (calls < LEAST_CALLS) return undefined;
    if (5 * failed > calls) return { isSlow: false, bad: failed, calls };
    if (10 * slow <= calls || (slowSeconds < LEAST_SLOW_SECONDS && !isRelapse)) return undefined;
    return { isSlow: true, bad: slow, calls };
  }

  /** Forgets the calls; after slow ones also the minute in which they were made, because it was no healthy one. */
  clear(wereSlow: boolean): void {
    this.counts.fill(0);
    if (wereSlow) this.samples = [];
  }

  private learn(tookUs: number): void {
    const { samples } = this;
    const length = samples.push(tookUs);
    if (length < (this.slowUs < Infinity ? SAMPLES : FIRST_SAMPLES)) return;
    samples.sort((a, b) => a - b);
    const median = samples[length / 2] as number;
    const ninth = samples[length * 0.9] as number;
    // Over HTTP, a tenth of the calls may always take much longer than the median.
    this.slowUs = Math.max(median + MARGIN_US, 1.25 * ninth);
    this.samples = [];
  }
}

function bucketOf(second: number): number {
  return 3 * (second % WINDOW_SECONDS);
}

/** So long after the last late reply turns are still counted. */
const WATCH_US = 10_000_000;

/**
 * Within so many turns a call is sent, answered and read, also if others are sent before it. However long the turns
 * are, the store has not made the caller wait.
 */
const TURNS_OF_A_CALL = 4;

/** Counts turns of the event loop, to tell a reply that came late from one that this process read late. */
export class LoopTurns {
  /** Turns since counting began; -1 while nothing is counted. */
  now = -1;
  private lateUs = 0;
  /** There, timers end with their request, and the clock stands still while the process computes. */
  private readonly counts = !endsTimersWithRequests();
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /**
   * Whether a reply that came late came late to this process, too: it could have read it before.
   *
   * @param then {@link now} when the call was made
   * @param unknown what to return if turns were not counted at that moment
   */
  hasPassedSince(then: number, unknown: boolean): boolean {
    if (!this.counts) return true;
    this.lateUs = this.clock.nowUs();
    if (this.now < 0) {
      this.now = 0;
      this.watch();
    }
    return then < 0 ? unknown : this.now - then > TURNS_OF_A_CALL;
  }

  private watch(): void {
    afterIdly(1, () => {
      const isOver = this.clock.nowUs() - this.lateUs > WATCH_US;
      this.now = isOver ? -1 : this.now + 1;
      if (!isOver) this.watch();
    });
  }
}
