/** The leases of one length that are held, in the order in which they must be renewed. */

import type { Step } from '../../contract/store.js';

/** Before this share of its length is over a lease is renewed: so it survives one renewal that is lost. */
const LATEST = 1 / 3;

/** And not in this first share: most requests are over by then. */
const EARLIEST = 1 / 12;

/** Turns in a third of a lease, save that none comes sooner after another than {@link SOONEST_US}. */
const TURNS = 64;

export const SOONEST_US = 20_000;

export class Roster {
  /** How often to ask what is due, in microseconds. */
  readonly turnUs: number;
  /** Until when each must be renewed again. */
  readonly latestUs: number;
  /** Over so long renewals are spread. */
  readonly spreadUs: number;
  private readonly earliestUs: number;
  /** When each was taken or renewed last; the longest ago comes first. */
  private held = new Map<Step, number>();
  /** Those whose last renewal failed. */
  private readonly missed = new Set<Step>();
  /** The part of its share that the last turn did not come to. */
  private owed = 0;
  /** What was not renewed since is late. */
  private behindUs = 0;

  constructor(leaseUs: number) {
    this.latestUs = leaseUs * LATEST;
    this.earliestUs = leaseUs * EARLIEST;
    this.spreadUs = this.latestUs - this.earliestUs;
    this.turnUs = Math.max(this.latestUs / TURNS, SOONEST_US);
  }

  get size(): number {
    return this.held.size;
  }

  has(step: Step): boolean {
    return this.held.has(step);
  }

  hold(step: Step, nowUs: number): void {
    this.held.set(step, nowUs);
  }

  release(step: Step): void {
    this.held.delete(step);
    this.missed.delete(step);
  }

  /** All that is held; from now on nothing is. */
  releaseAll(): readonly Step[] {
    const all = [...this.held.keys()];
    this.held.clear();
    this.missed.clear();
    return all;
  }

  /**
   * Those to renew now, at most `most`: their share of the `sinceUs` since this was asked last, and whatever is late.
   * They count as renewed, until {@link noteRenewal} says otherwise.
   */
  due(nowUs: number, sinceUs: number, most: number): readonly Step[] {
    const share = this.owed + (this.held.size * sinceUs) / this.spreadUs;
    const lateUs = Math.max(nowUs - this.latestUs + this.turnUs, this.behindUs);
    const youngUs = nowUs - this.earliestUs;
    const due: Step[] = [];
    for (const [step, atUs] of this.held) {
      if (due.length === most) break;
      if (atUs >= lateUs && (atUs > youngUs || due.length >= share)) break;
      due.push(step);
    }
    this.owed = due.length === most ? Math.max(0, share - most) : 0;
    for (const step of due) {
      this.held.delete(step);
      this.held.set(step, nowUs);
    }
    return due;
  }

  /** One that failed is not tried again before its turn, or the end of the outage. */
  noteRenewal(step: Step, failed: boolean): void {
    if (failed && this.held.has(step)) this.missed.add(step);
    else this.missed.delete(step);
  }

  /**
   * The store is back: all is late. Where it comes and goes, only what failed is: to renew all each time might be what
   * it fails under.
   */
  catchUp(nowUs: number): void {
    if (nowUs - this.behindUs >= this.earliestUs) this.behindUs = nowUs;
    const others = this.held;
    this.held = new Map();
    for (const step of this.missed) if (others.delete(step)) this.held.set(step, 0);
    for (const [step, atUs] of others) this.held.set(step, atUs);
    this.missed.clear();
  }
}
