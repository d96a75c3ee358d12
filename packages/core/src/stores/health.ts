/** One part of a store: what came of its calls in the last ten seconds, and whether it is asked at all. */

import { SpillwayError } from '../base/errors.js';
import type { BreakerEvent } from '../contract/observer.js';
import type { Host, Probe } from './probe.js';

/** Of fewer calls nothing is concluded. */
const LEAST_CALLS = 20;

/** More than a fifth of the calls failed, or more than a tenth were slow: the part is sick. */
const FAILED_OF = 5;
const SLOW_OF = 10;

const SECOND_US = 1_000_000;
const SECONDS = 10;

/** Failures in a row are forgotten when the last one is so old. */
const ROW_US = 60_000_000;

/** By default a call is slow if it takes so much longer than half of the calls do. */
const MARGIN_US = 10_000;

/** A median is known from so many calls on, and then moves by this factor with each. */
const MEDIAN_FROM = 20;
const MEDIAN_STEP = 1.02;

/** So many probes in a row must be answered in time by a part that was sick; by one that was down, one. */
const HEALTHY_PROBES = 5;

export type Cause = NonNullable<BreakerEvent['cause']>;

export class Health {
  /** Calls in a row that have failed. */
  private failures = 0;
  private failedUs = Number.NEGATIVE_INFINITY;
  /** Calls of each of the last seconds, those that failed, and those that were slow. */
  private readonly calls = new Counts();
  private readonly failed = new Counts();
  private readonly slow = new Counts();
  /** Of calls that were not slow: a store that is always far away is healthy. */
  private medianUs: number | undefined;
  private readonly first: number[] = [];
  private probe: Probe | undefined;
  private cause: Cause = 'down';
  private openedUs = 0;
  private healthyProbes = 0;

  /** Whether nobody asks this part. */
  get isOpen(): boolean {
    return this.probe !== undefined;
  }

  /** Whether it answers, only too slowly or too seldom. */
  get isSick(): boolean {
    return this.isOpen && this.cause !== 'down';
  }

  /** Whether nothing failed or was slow lately. */
  isWell(nowUs: number): boolean {
    return !this.isOpen && this.failures === 0 && nowUs - this.failedUs > SECONDS * SECOND_US;
  }

  /**
   * A call was answered.
   *
   * @param tookUs undefined if that is not to be counted
   * @param slowUs how long a call may take; undefined: by the median
   */
  answered(tookUs: number | undefined, nowUs: number, slowUs: number | undefined): void {
    this.failures = 0;
    this.calls.add(nowUs);
    if (tookUs === undefined) return;
    if (this.isSlow(tookUs, slowUs)) {
      this.slow.add(nowUs);
      this.failedUs = nowUs;
    } else {
      this.learn(tookUs);
    }
  }

  /** A call failed. Returns how many have in a row. */
  fail(nowUs: number): number {
    if (nowUs - this.failedUs > ROW_US) this.failures = 0;
    this.failures += 1;
    this.failedUs = nowUs;
    this.calls.add(nowUs);
    this.failed.add(nowUs);
    return this.failures;
  }

  /** Why it should not be asked although it answers some calls; undefined if it should. */
  sickness(nowUs: number, cause?: unknown): SpillwayError | undefined {
    const calls = this.calls.sum(nowUs);
    if (calls < LEAST_CALLS) return undefined;
    const failed = this.failed.sum(nowUs);
    if (failed * FAILED_OF > calls)
      return sick('failing', `${failed} of ${calls} calls failed`, cause);
    const slow = this.slow.sum(nowUs);
    return slow * SLOW_OF > calls ? sick('slow', `${slow} of ${calls} calls were slow`) : undefined;
  }

  /** Returns why it is not asked from now on, in a word. */
  open(error: { readonly kind?: string }, probe: Probe, nowUs: number): Cause {
    const { kind } = error;
    this.cause = kind === 'failing' || kind === 'slow' ? kind : 'down';
    this.probe = probe;
    this.openedUs = nowUs;
    this.healthyProbes = 0;
    return this.cause;
  }

  /** A probe was answered. Whether the part may be asked again. */
  probed(tookUs: number, slowUs: number | undefined): boolean {
    if (this.cause !== 'down' && this.isSlow(tookUs, slowUs)) {
      this.healthyProbes = 0;
      return false;
    }
    this.healthyProbes += 1;
    return this.cause === 'down' || this.healthyProbes >= HEALTHY_PROBES;
  }

  probeFailed(): void {
    this.healthyProbes = 0;
  }

  /** It is asked again. Returns how long it was not, in milliseconds. */
  close(nowUs: number): number {
    this.probe?.end();
    this.probe = undefined;
    this.failures = 0;
    for (const counts of [this.calls, this.failed, this.slow]) counts.clear();
    return (nowUs - this.openedUs) / 1000;
  }

  /** A request would have asked: the question to wait for before it is decided, if it is worth it. */
  knock(host: Host | undefined, key: string): Promise<void> | undefined {
    return this.probe?.knock(host, key);
  }

  private isSlow(tookUs: number, slowUs = (this.medianUs ?? Infinity) + MARGIN_US): boolean {
    return tookUs > slowUs;
  }

  private learn(tookUs: number): void {
    if (this.medianUs !== undefined) {
      this.medianUs *= tookUs > this.medianUs ? MEDIAN_STEP : 1 / MEDIAN_STEP;
      return;
    }
    this.first.push(tookUs);
    if (this.first.length < MEDIAN_FROM) return;
    this.first.sort((one, other) => one - other);
    this.medianUs = Math.max(1, this.first[MEDIAN_FROM / 2] as number);
    this.first.length = 0;
  }
}

function sick(kind: Cause, what: string, cause?: unknown): SpillwayError {
  const options = cause === undefined ? { kind } : { kind, cause };
  return new SpillwayError('SPW_STORE_UNAVAILABLE', `${what} in ${SECONDS} s`, options);
}

/** How often something happened in each of the last seconds. */
class Counts {
  private readonly counts: number[] = Array.from({ length: SECONDS }, () => 0);
  private second = 0;

  add(nowUs: number): void {
    this.turn(nowUs);
    const at = this.second % SECONDS;
    this.counts[at] = (this.counts[at] as number) + 1;
  }

  sum(nowUs: number): number {
    this.turn(nowUs);
    let sum = 0;
    for (const count of this.counts) sum += count;
    return sum;
  }

  clear(): void {
    this.counts.fill(0);
  }

  /** Forgets what is older than the last seconds; all of it if the clock was set back. */
  private turn(nowUs: number): void {
    const second = Math.max(0, Math.floor(nowUs / SECOND_US));
    const passed = second - this.second;
    if (passed === 0) return;
    this.second = second;
    if (passed < 0 || passed >= SECONDS) this.counts.fill(0);
    else for (let ago = 0; ago < passed; ago += 1) this.counts[(second - ago) % SECONDS] = 0;
  }
}

/** Why a step was not asked. */
export function unasked(): SpillwayError {
  return new SpillwayError('SPW_STORE_UNAVAILABLE', 'the store did not answer and is not asked');
}
