/** The leases of one length: each is renewed in time, few at once; and what was not given back is given back again. */

import type { Clock } from '../../base/clock.js';
import { afterIdly, endsTimersWithRequests, isLater } from '../../base/host.js';
import type { Answer } from '../../contract/ask.js';
import type { Step } from '../../contract/store.js';
import type { LateValue, UpkeepClient } from '../../contract/upkeep.js';
import { GIVE_BACK_US, hasFailed, LostReleases, MOST_STEPS, releaseOf } from './lost-releases.js';
import { Roster, SOONEST_US } from './roster.js';

/** Fewer after an outage, when requests have waited long enough. */
const MOST_AFTER_OUTAGE = 256;

/** A claim that is done is told again for so many leases: nobody else may run it, as long as it is free. */
const DONE_LEASES = 10;

/** So much later than it should have come, a timer is taken for dead. */
const OVERDUE_US = 1_000_000;

export class LeaseCycle {
  private readonly roster: Roster;
  private readonly lost: LostReleases;
  /** Of claims: what ends them, and whom to tell when they are lost. */
  private readonly lasts = new WeakMap<Step, Step>();
  private readonly losers = new WeakMap<Step, () => void>();
  /** What could not be written beside the ends of claims. */
  private readonly lates = new WeakMap<Step, LateValue>();
  private cancel: (() => void) | undefined;
  /** Of the last turn. */
  private nowUs = 0;
  /** When the timer should come. */
  private dueUs = 0;
  /** When those that were lost were last sent again. */
  private roundUs = 0;
  private catchingUp = false;
  private readonly client: UpkeepClient<Step>;
  private readonly clock: Clock;
  private readonly leaseUs: number;
  /** After so long what was lost is sent again. */
  private readonly resendUs: number;
  /** Told of renewals and releases on their way, for whoever closes waits for them. */
  private readonly track: (call: Promise<unknown>) => void;

  constructor(
    client: UpkeepClient<Step>,
    leaseUs: number,
    latestResendUs: number,
    track: (call: Promise<unknown>) => void,
  ) {
    this.client = client;
    this.clock = client.clock;
    this.leaseUs = leaseUs;
    this.track = track;
    this.roster = new Roster(leaseUs);
    this.resendUs = Math.min(this.roster.latestUs, latestResendUs);
    this.lost = new LostReleases(client.releaseRoom, (release) => this.lates.get(release)?.drop());
  }

  get size(): number {
    return this.roster.size;
  }

  hold(step: Step): void {
    this.run();
    this.roster.hold(step, this.nowUs);
    if (endsTimersWithRequests()) this.renewApart(step);
  }

  /** From now on it is not renewed. `last`: the step that ends a claim. */
  release(step: Step, last?: Step): void {
    this.roster.release(step);
    if (step.claim && last) this.lasts.set(step, last);
  }

  /** Calls back if a renewal finds that another owner has the claim. */
  whenLost(step: Step, lost: () => void): void {
    this.losers.set(step, lost);
  }

  writeLater(last: Step, value: LateValue): void {
    this.lates.set(last, value);
  }

  /** A claim was ended by `last`. If its value was not written before, the store may take it now. */
  noteDone(last: Step): void {
    const late = this.lates.get(last);
    if (!late) return;
    late.mark();
    this.track(this.giveBack(last));
  }

  /** A release did not reach the store: it is sent again. */
  noteLost(release: Step): void {
    const late = this.lates.get(release);
    if (late?.hold() === false) late.drop();
    const nowUs = this.clock.nowUs();
    if (this.lost.size === 0) this.roundUs = nowUs;
    const leases = release.op === 'done' ? DONE_LEASES : 1;
    this.lost.add(release, nowUs + leases * this.leaseUs);
    this.run();
    if (this.dueUs <= nowUs + this.resendUs) return;
    this.cancel?.();
    this.schedule(this.resendUs);
  }

  /**
   * The store is back, and may have forgotten or never heard: begins at once to give back what was lost, and to renew
   * what is held.
   */
  catchUp(): void {
    if (this.size === 0 && this.lost.size === 0) return;
    const nowUs = this.clock.nowUs();
    this.beginRound(nowUs);
    this.roster.catchUp(nowUs);
    this.catchingUp = true;
    this.cancel?.();
    this.turn();
  }

  /** Writes what waits to be written, once more. */
  async writeNow(): Promise<void> {
    const writing = this.lost.all().map(async (release) => {
      const late = this.lates.get(release);
      if (late && !(await late.write())) late.drop();
    });
    await Promise.all(writing);
  }

  /** Stops; the releases that are left to send, with those of what is held if `givesBack`. */
  end(givesBack: boolean): readonly Step[] {
    this.cancel?.();
    this.cancel = undefined;
    const held = this.roster.releaseAll();
    return [...this.lost.takeAll(), ...(givesBack ? held.map(releaseOf) : [])];
  }

  /** Some hosts end a timer with the request that set it: what is long overdue is done by the next request. */
  keepUp(): void {
    if (!this.cancel || this.clock.nowUs() < this.dueUs + OVERDUE_US) return;
    this.cancel();
    this.turn();
  }

  /** By a timer of the request that holds it, which lives as long as that: the common one may end with another. */
  private renewApart(step: Step): void {
    afterIdly(this.roster.latestUs / 1000, () => {
      if (!this.roster.has(step)) return;
      this.renew([step]);
      this.renewApart(step);
    });
  }

  private run(): void {
    if (this.cancel) return;
    this.nowUs = this.clock.nowUs();
    this.schedule(this.roster.turnUs);
  }

  private schedule(us: number): void {
    this.dueUs = this.clock.nowUs() + us;
    this.cancel = afterIdly(us / 1000, () => this.turn());
  }

  private turn(): void {
    this.cancel = undefined;
    const nowUs = this.clock.nowUs();
    const sinceUs = nowUs - this.nowUs;
    this.nowUs = nowUs;
    if (nowUs - this.roundUs >= this.resendUs) this.beginRound(nowUs);
    const most = this.catchingUp ? MOST_AFTER_OUTAGE : MOST_STEPS;
    // First, for they make room.
    const lost = this.lost.next(most);
    const due = this.roster.due(nowUs, sinceUs, most - lost.length);
    const calls = [...this.resend(lost), ...this.renew(due)];
    if (this.size === 0 && this.lost.size === 0) return;
    const isCut = lost.length + due.length === most;
    this.catchingUp &&= isCut;
    if (this.catchingUp) void this.pause(calls);
    else this.schedule(isCut ? SOONEST_US : this.pauseUs);
  }

  /** To the next turn. */
  private get pauseUs(): number {
    const { turnUs } = this.roster;
    return this.lost.size > 0 ? Math.min(turnUs, this.resendUs) : turnUs;
  }

  /** Leaves the store to requests for as long as it took over `calls`. */
  private async pause(calls: readonly Promise<unknown>[]): Promise<void> {
    this.schedule(GIVE_BACK_US);
    const { cancel } = this;
    await Promise.all(calls);
    if (this.cancel !== cancel) return; // it took too long
    cancel?.();
    this.schedule(Math.max(SOONEST_US, this.clock.nowUs() - this.nowUs));
  }

  /**
   * Each by itself, so that none fails for another; a store that is far away sends them together. What fails is not
   * sent again, but comes in its turn.
   */
  private renew(due: readonly Step[]): Promise<unknown>[] {
    if (due.length === 0) return [];
    const calls: Promise<unknown>[] = [];
    for (const step of due) {
      const answers = this.client.link.renew([{ ...step, op: 'record' }], this.roster.spreadUs);
      if (!isLater(answers)) {
        if (step.claim) this.renewed(step, answers[0]);
        continue;
      }
      const call = answers.then(([answer]) => this.renewed(step, answer));
      this.track(call);
      calls.push(call);
    }
    return calls;
  }

  /** A renewal may be run after the release of its permit, and take it once more: then it is given back once more. */
  private renewed(step: Step, answer: Answer | undefined): unknown {
    const hasFailedNow = hasFailed(answer);
    if (!this.roster.has(step)) {
      // Of a claim that was abandoned nobody knows the end.
      const last = step.claim ? this.lasts.get(step) : releaseOf(step);
      return last && this.giveBack(last);
    }
    if (step.claim && answer && !hasFailedNow && !answer.allowed) {
      this.roster.release(step);
      return this.losers.get(step)?.();
    }
    return this.roster.noteRenewal(step, hasFailedNow);
  }

  private resend(releases: readonly Step[]): Promise<unknown>[] {
    if (releases.length === 0) return [];
    const all = Promise.all(releases.map((release) => this.giveBack(release))).then((arrived) => {
      // Nobody answers: the others wait for the next round.
      if (!arrived.includes(true)) this.lost.endRound();
    });
    this.track(all);
    return [all];
  }

  private async giveBack(release: Step): Promise<boolean> {
    const late = this.lates.get(release);
    // First: from the moment on at which its claim is done, repeats ask for it.
    const isWritten = !late || (await late.write());
    const arrived = (late?.isMarked || (await this.send(release, late))) && isWritten;
    if (arrived) this.lost.delete(release);
    else this.noteLost(release);
    return arrived;
  }

  private async send(release: Step, late: LateValue | undefined): Promise<boolean> {
    const [answer] = await this.client.link.giveBack([release], (given) => given, GIVE_BACK_US);
    const hasArrived = !hasFailed(answer);
    if (hasArrived) late?.mark();
    return hasArrived;
  }

  private beginRound(nowUs: number): void {
    this.roundUs = nowUs;
    this.lost.beginRound(nowUs);
  }
}
