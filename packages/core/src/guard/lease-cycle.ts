/** The leases of one length: each is renewed in time, few at once; and what was not given back is given back again. */

import type { Clock } from '../clock.js';
import { afterIdly, isLater } from '../host.js';
import type { Answer, ApplyOptions, Step, Store } from '../store.js';
import { LostReleases } from './lost-releases.js';

/** Before this share of its length is over a lease is renewed: so it survives one renewal that is lost. */
const LATEST = 1 / 3;

/** And not in this first share: most requests are over by then. What lies between is the time over which renewals are spread. */
const EARLIEST = 1 / 12;

/** Turns in a third of a lease, save that none comes sooner after another than {@link SOONEST_MS}. */
const TURNS = 64;
const SOONEST_MS = 20;

/** Steps sent in one turn at most: some milliseconds of a store, so that requests hardly wait for them. */
export const MOST_STEPS = 512;

/** After so long without an answer a release is taken for lost. */
export const GIVE_BACK_US = 1_000_000;

export class LeaseCycle {
  /** When each was taken or renewed last; the longest ago comes first. */
  private readonly held = new Map<Step, number>();
  private readonly lost = new LostReleases();
  private readonly turnUs: number;
  private cancel: (() => void) | undefined;
  /** Of the last turn. */
  private nowUs = 0;
  /** When those that were lost were last sent again. */
  private roundUs = 0;
  /** The part of its share that the last turn did not come to. */
  private owed = 0;
  /** What was not renewed since is late. */
  private behindUs = 0;

  constructor(
    private readonly store: Store,
    private readonly leaseUs: number,
    private readonly clock: Clock,
    /** Renewals and releases on their way; whoever closes waits for them. */
    private readonly underWay: Set<Promise<unknown>>,
  ) {
    this.turnUs = Math.max((leaseUs * LATEST) / TURNS, SOONEST_MS * 1000);
  }

  get size(): number {
    return this.held.size;
  }

  hold(step: Step): void {
    this.run();
    this.held.set(step, this.nowUs);
  }

  release(step: Step): void {
    this.held.delete(step);
  }

  noteLost(release: Step): void {
    if (this.lost.size === 0) this.roundUs = this.clock.nowUs();
    this.lost.add(release, this.clock.nowUs() + this.leaseUs);
    this.run();
  }

  /** The store is back, and may have forgotten or never heard: begins at once to give back what was lost, and to renew all that is held. */
  catchUp(): void {
    if (this.held.size === 0 && this.lost.size === 0) return;
    this.behindUs = this.clock.nowUs();
    this.beginRound(this.behindUs);
    this.cancel?.();
    this.turn();
  }

  /** Stops; the releases that are left to send. */
  end(): readonly Step[] {
    this.cancel?.();
    this.cancel = undefined;
    this.lost.beginRound(this.clock.nowUs());
    const releases = [...this.lost.next(Infinity)];
    for (const step of this.held.keys()) releases.push(releaseOf(step));
    this.held.clear();
    return releases;
  }

  private run(): void {
    if (this.cancel) return;
    this.nowUs = this.clock.nowUs();
    this.schedule(this.turnUs / 1000);
  }

  private schedule(ms: number): void {
    this.cancel = afterIdly(ms, () => this.turn());
  }

  private turn(): void {
    this.cancel = undefined;
    const nowUs = this.clock.nowUs();
    const sinceUs = nowUs - this.nowUs;
    this.nowUs = nowUs;
    if (nowUs - this.roundUs >= this.leaseUs * LATEST) this.beginRound(nowUs);
    // First, for they make room.
    const lost = this.lost.next(MOST_STEPS);
    const due = this.due(sinceUs, MOST_STEPS - lost.length);
    if (lost.length > 0) this.resend(lost);
    if (due.length > 0) this.renew(due);
    if (this.held.size === 0 && this.lost.size === 0) return;
    const isCut = lost.length + due.length === MOST_STEPS;
    this.schedule(isCut ? SOONEST_MS : this.turnUs / 1000);
  }

  /** Those whose turn it is, at most `most`: their share of the time that has passed, and whatever is late. */
  private due(sinceUs: number, most: number): readonly Step[] {
    const { nowUs, leaseUs } = this;
    const share = this.owed + (this.held.size * sinceUs) / (leaseUs * (LATEST - EARLIEST));
    const lateUs = Math.max(nowUs - leaseUs * LATEST + this.turnUs, this.behindUs);
    const youngUs = nowUs - leaseUs * EARLIEST;
    const due: Step[] = [];
    for (const [step, atUs] of this.held) {
      if (due.length === most) break;
      if (atUs >= lateUs && (atUs > youngUs || due.length >= share)) break;
      due.push(step);
    }
    this.owed = due.length === most ? Math.max(0, share - most) : 0;
    return due;
  }

  /**
   * Each by itself, so that none fails for another; a store that is far away sends them together. What fails is not sent again,
   * but comes in its turn.
   */
  private renew(due: readonly Step[]): void {
    const options = inBackground(this.clock, this.leaseUs * (LATEST - EARLIEST));
    for (const step of due) {
      this.held.delete(step);
      this.held.set(step, this.nowUs);
      const answers = this.store.apply([{ ...step, op: 'record' }], options);
      if (isLater(answers)) this.track(answers.then(() => this.renewed(step)));
    }
  }

  /** A renewal may have overtaken the release of its permit, and taken it once more: then it is given back once more. */
  private renewed(step: Step): unknown {
    return this.held.has(step) ? undefined : this.giveBack(releaseOf(step));
  }

  private resend(releases: readonly Step[]): void {
    const calls = releases.map((release) => this.giveBack(release));
    const all = Promise.all(calls).then((arrived) => {
      // Nobody answers: the others wait for the next round.
      if (!arrived.includes(true)) this.lost.endRound();
    });
    this.track(all);
  }

  private async giveBack(release: Step): Promise<boolean> {
    const [answer] = await this.store.apply([release], inBackground(this.clock, GIVE_BACK_US));
    const arrived = !hasFailed(answer);
    if (arrived) this.lost.delete(release);
    else this.noteLost(release);
    return arrived;
  }

  private beginRound(nowUs: number): void {
    this.roundUs = nowUs;
    this.lost.beginRound(nowUs);
  }

  private track(call: Promise<unknown>): void {
    this.underWay.add(call);
    void call.then(() => this.underWay.delete(call));
  }
}

/** A call that no request waits for, and that the breaker does not hear of. */
export function inBackground(clock: Clock, forUs: number): ApplyOptions {
  return { deadlineUs: clock.nowUs() + forUs, background: true };
}

/** The step that gives a lease back. */
export function releaseOf(step: Step): Step {
  return { ...step, op: 'put' };
}

export function hasFailed(answer: Answer | undefined): boolean {
  return answer === undefined || answer.failure !== undefined;
}
