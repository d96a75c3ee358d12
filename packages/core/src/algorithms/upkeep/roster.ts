import type { Step } from '../../contract/store.js';

/** A lease is renewed within this share of its length, so it survives one lost renewal. */
const LATEST = 1 / 3;

/** A lease is not renewed earlier, except after an outage: most requests have ended by then. */
const EARLIEST = 1 / 12;

/** The most turns of renewals within a third of a lease. Turns are at least {@link SOONEST_US} apart. */
const TURNS = 64;

export const SOONEST_US = 20_000;

export class Roster {
  readonly turnUs: number;
  readonly maxAgeUs: number;
  readonly spreadUs: number;
  private readonly earliestUs: number;
  /** When each lease was last taken or renewed, oldest first. */
  private held = new Map<Step, number>();
  /** The leases whose last renewal failed. */
  readonly missed: Set<Step> = new Set();
  private overdue = 0;
  private lateUs = 0;

  constructor(leaseUs: number) {
    this.maxAgeUs = leaseUs * LATEST;
    this.earliestUs = leaseUs * EARLIEST;
    this.spreadUs = this.maxAgeUs - this.earliestUs;
    this.turnUs = Math.max(this.maxAgeUs / TURNS, SOONEST_US);
  }

  get size(): number {
    return this.held.size;
  }

  /** Whether a lease has not been renewed since {@link catchUp}. */
  get isCatchingUp(): boolean {
    for (const atUs of this.held.values()) return atUs < this.lateUs;
    return false;
  }

  steps(): Iterable<Step> {
    return this.held.keys();
  }

  has(step: Step): boolean {
    return this.held.has(step);
  }

  holdLease(step: Step, nowUs: number): void {
    this.held.set(step, nowUs);
  }

  releaseLease(step: Step): void {
    this.held.delete(step);
    this.missed.delete(step);
  }

  releaseAll(): readonly Step[] {
    const all = [...this.held.keys()];
    this.held.clear();
    this.missed.clear();
    return all;
  }

  /**
   * The leases to renew now, at most `most`: all late ones and, if these are fewer than the share due since the last
   * turn (`sinceUs` ago), also the oldest others that are old enough ({@link EARLIEST}). They count as renewed unless
   * {@link noteRenewal} reports a failure.
   */
  due(nowUs: number, sinceUs: number, most: number): readonly Step[] {
    const share = this.overdue + (this.held.size * sinceUs) / this.spreadUs;
    const lateUs = Math.max(nowUs - this.maxAgeUs + this.turnUs, this.lateUs);
    const youngUs = nowUs - this.earliestUs;
    const due: Step[] = [];
    for (const [step, atUs] of this.held) {
      if (due.length === most) break;
      if (atUs >= lateUs && (atUs > youngUs || due.length >= share)) break;
      due.push(step);
    }
    this.overdue = due.length === most ? Math.max(0, share - most) : 0;
    for (const step of due) {
      this.held.delete(step);
      this.held.set(step, nowUs);
    }
    return due;
  }

  /** A failed renewal is retried at the next turn of its lease, or earlier if the outage ends. */
  noteRenewal(step: Step, failed: boolean): void {
    if (failed && this.held.has(step)) this.missed.add(step);
    else this.missed.delete(step);
  }

  /**
   * Call this when the store is back. Makes all leases late, so that they are renewed soon. Shortly after an earlier
   * call, makes only those late whose renewal failed, because renewing all again could overload the store.
   */
  catchUp(nowUs: number): void {
    if (nowUs - this.lateUs >= this.earliestUs) this.lateUs = nowUs;
    const others = this.held;
    this.held = new Map();
    for (const step of this.missed) if (others.delete(step)) this.held.set(step, 0);
    for (const [step, atUs] of others) this.held.set(step, atUs);
  }
}
