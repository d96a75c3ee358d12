/** Renews all leases of the same length before they expire, a few per turn, and retries failed releases. */

import {
  afterIdly,
  afterPendingInput,
  type Eventually,
  endsTimersWithRequests,
  isLater,
} from '../../base/host.js';
import type { AnswerBase } from '../../contract/ask.js';
import type { Step } from '../../contract/store.js';
import type { LateValue, UpkeepClient } from '../../contract/upkeep.js';
import {
  hasFailed,
  LostReleases,
  MAX_STEPS_PER_TURN,
  RELEASE_TIMEOUT_US,
  releaseOf,
} from './lost-releases.js';
import { Roster, SOONEST_US } from './roster.js';

/** The most steps per turn after an outage: few, because requests have priority. */
const MAX_STEPS_AFTER_OUTAGE = 256;

/**
 * The step that marks a claim as done is resent for this many lease lengths. If it never reaches the store, another
 * owner can run the request again after the lease has expired.
 */
const DONE_LEASES = 10;

/** A timer that is overdue by this much is considered dead. */
const OVERDUE_US = 1_000_000;

interface WatchedClaim {
  readonly lost: (isTaken: boolean) => void;
  /** When the claim was asked for, or the last renewal was sent that has reached the store. */
  renewedUs: number;
  /** When the last renewal was sent. */
  sentUs: number;
}

export class LeaseCycle {
  private readonly roster: Roster;
  private readonly lost: LostReleases;
  private readonly endSteps = new WeakMap<Step, Step>();
  private readonly watched = new WeakMap<Step, WatchedClaim>();
  /** For each step that ends a claim, the value that is still to be written. */
  private readonly values = new WeakMap<Step, LateValue>();
  private cancel: (() => void) | undefined;
  private turnedUs = 0;
  private dueUs = 0;
  private retriedUs = 0;
  private catchingUp = false;
  private readonly client: UpkeepClient<Step>;
  private readonly leaseUs: number;
  private readonly resendUs: number;
  private readonly track: (call: Promise<unknown>) => void;

  constructor(
    client: UpkeepClient<Step>,
    leaseUs: number,
    latestResendUs: number,
    track: (call: Promise<unknown>) => void,
  ) {
    this.client = client;
    this.leaseUs = leaseUs;
    this.track = track;
    this.roster = new Roster(leaseUs);
    this.resendUs = Math.min(this.roster.maxAgeUs, latestResendUs);
    this.lost = new LostReleases(client.releaseRoom, (release) => this.values.get(release)?.drop());
  }

  get size(): number {
    return this.roster.size;
  }

  holdLease(step: Step): void {
    this.startTimer();
    this.roster.holdLease(step, this.turnedUs);
    if (endsTimersWithRequests()) this.renewApart(step);
  }

  /** Stops renewing a lease. The step `last` releases its permit or ends its claim. */
  releaseLease(step: Step, last?: Step): void {
    this.roster.releaseLease(step);
    if (last) this.endSteps.set(step, last);
  }

  whenLost(step: Step, askedUs: number, lost: (isTaken: boolean) => void): void {
    this.watched.set(step, { lost, renewedUs: askedUs, sentUs: askedUs });
  }

  writeLater(last: Step, value: LateValue): void {
    this.values.set(last, value);
  }

  /** Call this when `last` has reached the store. If the value of its claim is still missing, writes it. */
  noteDone(last: Step): void {
    const late = this.values.get(last);
    if (!late) return;
    late.mark();
    this.track(this.deliverRelease(last));
  }

  noteLost(release: Step): void {
    const late = this.values.get(release);
    if (late?.hold() === false) late.drop();
    const nowUs = this.client.clock.nowUs();
    if (this.lost.size === 0) this.retriedUs = nowUs;
    const leases = release.op === 'done' ? DONE_LEASES : 1;
    this.lost.addRelease(release, nowUs + leases * this.leaseUs);
    this.startTimer();
    if (this.dueUs > nowUs + this.resendUs) this.schedule(this.resendUs);
  }

  catchUp(): void {
    if (this.size === 0 && this.lost.size === 0) return;
    const nowUs = this.client.clock.nowUs();
    this.beginRound(nowUs);
    this.roster.catchUp(nowUs);
    this.catchingUp = true;
    this.cancel?.();
    this.turn();
  }

  async writeNow(): Promise<void> {
    const writing = this.lost.all().map(async (release) => {
      const late = this.values.get(release);
      if (late && !(await late.write())) late.drop();
    });
    await Promise.all(writing);
  }

  /** Stops all renewals. Returns the releases still to be sent; with `givesBack`, also those of held leases. */
  endLeases(givesBack: boolean): readonly Step[] {
    this.cancel?.();
    this.cancel = undefined;
    const held = this.roster.releaseAll();
    const lost = this.lost.takeAll();
    if (!givesBack) return lost;
    const releases = held.map((step) => {
      const release = releaseOf(step);
      this.endSteps.set(step, release);
      return release;
    });
    return [...lost, ...releases];
  }

  keepUp(): void {
    if (!this.cancel || this.client.clock.nowUs() < this.dueUs + OVERDUE_US) return;
    this.cancel();
    this.turn();
  }

  /** Renews a lease by a timer of its request: the shared timer may stop when another request ends. */
  private renewApart(step: Step): void {
    afterIdly(this.roster.maxAgeUs / 1000, () => {
      if (!this.roster.has(step)) return;
      this.renew([step]);
      this.renewApart(step);
    });
  }

  private startTimer(): void {
    if (this.cancel) return;
    this.turnedUs = this.client.clock.nowUs();
    this.schedule(this.roster.turnUs);
  }

  /** Replaces the turn that is scheduled: a listener of a lost claim, for example, may have scheduled one. */
  private schedule(us: number): void {
    this.cancel?.();
    this.dueUs = this.client.clock.nowUs() + us;
    this.cancel = afterIdly(us / 1000, () => this.turn());
  }

  private turn(): void {
    this.cancel = undefined;
    const nowUs = this.client.clock.nowUs();
    const sinceUs = nowUs - this.turnedUs;
    this.turnedUs = nowUs;
    if (nowUs - this.retriedUs >= this.resendUs) this.beginRound(nowUs);
    const most = this.catchingUp ? MAX_STEPS_AFTER_OUTAGE : MAX_STEPS_PER_TURN;
    const hasStalled = sinceUs > this.roster.maxAgeUs;
    const doubtful = [...(hasStalled ? this.roster.steps() : this.roster.missed)];
    const certain = doubtful.filter((step) => !this.awaitsReply(step));
    // Releases are sent before renewals, because they free permits.
    const lost = this.lost.next(most);
    const due = this.roster.due(nowUs, sinceUs, most - lost.length);
    const calls = [...this.resend(lost), ...this.renew(due)];
    // After the renewals, because a synchronous store has already answered them.
    this.checkExpiry(certain);
    // The reply to an earlier renewal may have arrived during a stall, but timers fire before input is read.
    if (certain.length < doubtful.length) afterPendingInput(() => this.checkExpiry(doubtful));
    if (this.size === 0 && this.lost.size === 0) return;
    const isCut = lost.length + due.length === most;
    // Ends once each lease is renewed: a turn may be cut forever, if more leases are due than at this slow pace.
    this.catchingUp &&= isCut && (lost.length > 0 || this.roster.isCatchingUp);
    if (this.catchingUp) void this.pause(calls);
    else this.schedule(isCut ? SOONEST_US : this.pauseUs);
  }

  private get pauseUs(): number {
    const { turnUs } = this.roster;
    return this.lost.size > 0 ? Math.min(turnUs, this.resendUs) : turnUs;
  }

  /** Pauses for as long as `calls` took, so requests get at least half of the store's time. */
  private async pause(calls: readonly Promise<unknown>[]): Promise<void> {
    this.schedule(RELEASE_TIMEOUT_US);
    const { cancel } = this;
    await Promise.all(calls);
    if (this.cancel !== cancel) return; // the calls took too long, so the next turn was started by the timer
    this.schedule(Math.max(SOONEST_US, this.client.clock.nowUs() - this.turnedUs));
  }

  /** Sends each renewal in a separate call, so failures stay apart. A remote store batches the calls. */
  private renew(due: readonly Step[]): Promise<unknown>[] {
    if (due.length === 0) return [];
    const calls: Promise<unknown>[] = [];
    const sentUs = this.client.clock.nowUs();
    for (const step of due) {
      const answers = this.send({ ...step, op: 'record' }, this.roster.spreadUs);
      if (!isLater(answers)) {
        if (step.claim) this.renewed(step, answers[0], sentUs);
        continue;
      }
      const claim = this.watched.get(step);
      if (claim) claim.sentUs = sentUs;
      const call = answers.then(([answer]) => this.renewed(step, answer, sentUs));
      this.track(call);
      calls.push(call);
    }
    return calls;
  }

  /** Whether no renewal has arrived since one was sent. */
  private awaitsReply(step: Step): boolean {
    const claim = this.watched.get(step);
    return claim !== undefined && claim.sentUs > claim.renewedUs;
  }

  /** The store may run a renewal after the release of its permit or claim, which is then released again. */
  private renewed(step: Step, answer: AnswerBase | undefined, sentUs: number): unknown {
    const hasFailedNow = hasFailed(answer);
    if (!this.roster.has(step)) {
      // An abandoned claim has no step that ends it.
      const last = this.endSteps.get(step);
      // The store may still run a renewal that failed.
      return last && (hasFailedNow ? this.noteLost(last) : this.deliverRelease(last));
    }
    if (step.claim && answer && !hasFailedNow && !answer.allowed) {
      this.roster.releaseLease(step);
      return this.watched.get(step)?.lost(true);
    }
    this.roster.noteRenewal(step, hasFailedNow);
    if (hasFailedNow) return this.checkExpiry([step]);
    const claim = this.watched.get(step);
    if (claim) claim.renewedUs = Math.max(claim.renewedUs, sentUs);
    return undefined;
  }

  /** Tells the owners of claims that others may have before the next turn, because no renewal arrived for a lease. */
  private checkExpiry(steps: readonly Step[]): void {
    const latestUs = this.client.clock.nowUs() + this.roster.turnUs - this.leaseUs;
    for (const step of steps) {
      const claim = this.watched.get(step);
      if (claim && claim.renewedUs <= latestUs && this.roster.has(step)) claim.lost(false);
    }
  }

  private resend(releases: readonly Step[]): Promise<unknown>[] {
    if (releases.length === 0) return [];
    const all = Promise.all(releases.map((release) => this.deliverRelease(release))).then(
      (arrived) => {
        if (!arrived.includes(true)) this.lost.endRound();
      },
    );
    this.track(all);
    return [all];
  }

  private async deliverRelease(release: Step): Promise<boolean> {
    const late = this.values.get(release);
    // The value is written first, because retries of the request read it as soon as the claim is done.
    const isWritten = !late || (await late.write());
    const arrived = (late?.isMarked || (await this.sendRelease(release, late))) && isWritten;
    if (arrived) this.lost.delete(release);
    else this.noteLost(release);
    return arrived;
  }

  private async sendRelease(release: Step, late: LateValue | undefined): Promise<boolean> {
    const [answer] = await this.send(release, RELEASE_TIMEOUT_US);
    const hasArrived = !hasFailed(answer);
    if (hasArrived) late?.mark();
    return hasArrived;
  }

  private send(step: Step, forUs: number): Eventually<readonly AnswerBase[]> {
    return this.client.link.giveBack([step], (answers) => answers, forUs);
  }

  private beginRound(nowUs: number): void {
    this.retriedUs = nowUs;
    this.lost.beginRound(nowUs);
  }
}
