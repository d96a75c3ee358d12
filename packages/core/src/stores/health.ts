/** Health of a part of a store in the last seconds. Tells slow answers of the store from stalls of this process. */

import type { Clock } from '../base/clock.js';
import { afterIdly, endsTimersWithRequests } from '../base/host.js';

/** Length of the sliding window over which calls are judged, in buckets of one second. */
export const WINDOW_SECONDS = 10;

/** Fewer calls than this say nothing about the store. */
const LEAST_CALLS = 20;

/** Minimum number of seconds with slow calls. One pause of up to two seconds, such as a fork of Redis, has fewer. */
const LEAST_SLOW_SECONDS = 4;

/** The usual latency is learned from this many samples, one per second. */
const SAMPLES = 60;

/** The first time, fewer samples suffice. */
const FIRST_SAMPLES = 10;

/** By default, a call is slow if it takes this much longer than the median. */
const MARGIN_US = 10_000;

/** Outcomes of a call, and their offsets in a bucket; offset 0 counts all calls. */
export const HEALTHY = 0;
export const FAILED = 1;
export const SLOW = 2;

/** Why a part should not be called. */
interface Diagnosis {
  readonly isSlow: boolean;
  readonly bad: number;
  readonly calls: number;
}

export class Health {
  /** Calls that take longer are slow; Infinity until the usual latency is known. */
  slowUs: number = Infinity;
  /** For each second: all calls, failed calls, slow calls. */
  private readonly counts: number[] = new Array(3 * WINDOW_SECONDS).fill(0);
  private second = 0;
  private samples: number[] = [];

  /** Counts a finished call. Returns true for the first one of a second. */
  count(nowUs: number, outcome: typeof HEALTHY | typeof FAILED | typeof SLOW, tookUs = 0): boolean {
    const { counts } = this;
    const second = Math.max(this.second, Math.floor(nowUs / 1_000_000));
    const isFirst = second > this.second;
    if (isFirst) {
      const from = Math.max(this.second + 1, second - WINDOW_SECONDS + 1);
      for (let i = from; i <= second; i += 1) counts.fill(0, bucketOf(i), bucketOf(i) + 3);
      this.second = second;
      if (outcome !== FAILED) this.addLatency(tookUs);
    }
    const at = bucketOf(second);
    counts[at] = (counts[at] as number) + 1;
    if (outcome) counts[at + outcome] = (counts[at + outcome] as number) + 1;
    return isFirst;
  }

  /** @param isRelapse if true, a single pause is enough, because the part was slow shortly before */
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

  /** Resets the counts. After slow calls also the samples, which would make slow calls look usual. */
  forgetCalls(wereSlow: boolean): void {
    this.counts.fill(0);
    if (wereSlow) this.samples = [];
  }

  private addLatency(tookUs: number): void {
    const { samples } = this;
    const length = samples.push(tookUs);
    if (length < (this.slowUs < Infinity ? SAMPLES : FIRST_SAMPLES)) return;
    samples.sort((a, b) => a - b);
    const median = samples[length / 2] as number;
    const ninth = samples[length * 0.9] as number;
    // Over HTTP, a tenth of the calls may regularly take much longer than the median.
    this.slowUs = Math.max(median + MARGIN_US, 1.25 * ninth);
    this.samples = [];
  }
}

function bucketOf(second: number): number {
  return 3 * (second % WINDOW_SECONDS);
}

/** How long turns are counted after the last late answer. */
const WATCH_US = 10_000_000;

/**
 * A call is sent, answered and read within this many turns of the event loop, even behind other calls. If it took no
 * more turns, it was their length that made the caller wait, not the store.
 */
const TURNS_OF_A_CALL = 4;

/** Counts turns of the event loop, to tell answers that arrived late from answers that this process read late. */
export class LoopTurns {
  /** Turns since counting began; -1 while turns are not counted. */
  now = -1;
  private lateUs = 0;
  /** Not on Workers: timers end with their request there, and the clock stands still during computation. */
  private readonly counts = !endsTimersWithRequests();
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /**
   * Whether a late answer arrived late, as opposed to being read late by this process.
   *
   * @param then {@link now} at the time of the call
   * @param unknown returned if turns were not counted at that time
   */
  hasPassedSince(then: number, unknown: boolean): boolean {
    if (!this.counts) return true;
    this.lateUs = this.clock.nowUs();
    if (this.now < 0) {
      this.now = 0;
      this.watchLoop();
    }
    return then < 0 ? unknown : this.now - then > TURNS_OF_A_CALL;
  }

  private watchLoop(): void {
    afterIdly(1, () => {
      const isOver = this.clock.nowUs() - this.lateUs > WATCH_US;
      this.now = isOver ? -1 : this.now + 1;
      if (!isOver) this.watchLoop();
    });
  }
}
