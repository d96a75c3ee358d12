/** Permits limit how many jobs of a key run at once, in all processes. Each permit is held under a lease. */

import type { Answer, Step } from '@spillway/core';
import { type DirectClient, type Eventually, type Limit, newLeaseId } from '@spillway/core/direct';
import {
  type Lease,
  type LeasesAnswer,
  type LeasesRule,
  type Machine,
  makeLeasesRule,
} from '@spillway/core/store';
import type { LiveRule } from './live-rule.js';
import type { PendingCalls } from './pending-calls.js';

type Upkeep = ReturnType<NonNullable<Machine['upkeep']>>;

/**
 * A process reuses a permit for at most this many further jobs, and starts them at most this long after it got the
 * permit. Then other processes get their turn. With 1 s, so few permits would be released that of 8 processes with 3
 * permits, some would wait 6 s for their first.
 */
const MAX_REUSES = 10;
const MAX_REUSE_US = 600_000;

/**
 * How long to wait after a rejection before asking again, on average: a fraction of the usual run time, within these
 * bounds.
 */
const POLL_PART = 1 / 4;
const MIN_POLL_US = 50_000;
const MAX_POLL_US = 500_000;

/**
 * One job changes the usual run time at most by this factor. Otherwise a process would ask too seldom after one long
 * job, while the others run short ones.
 */
const MAX_RUN_CHANGE = 4;

/**
 * A process books the next permit after it has waited this many turns, and as many more for each permit that it holds.
 * A turn is the usual run time of a job, but at least {@link MIN_TURN_US}. After only 1 turn, so many processes would
 * compete for the booking that some would wait as long as without bookings.
 */
const BOOK_AFTER = 4;
const MIN_TURN_US = 1_000_000;

/**
 * Until a process has waited this many turns, it asks for a booking a third as often. So processes that wait longer get
 * it.
 */
const LONG_WAIT = 6;
const SHORT_WAIT_POLLS = 3;

/**
 * A process with a booking waits only this part of the usual time before it asks again. If the booking lasts, the jobs
 * that hold the permits are long. Then the process waits {@link BOOKED_SHARE} of the time since the booking, so waiting
 * for many keys causes few calls. The longest wait leaves time to renew the booking.
 */
const BOOKED_PART = 1 / 10;
const BOOKED_SHARE = 1 / 32;
const MAX_BOOKED_POLL_US = 300_000;

/**
 * A booking is given up after this time. It is useless if other processes have a higher limit, for example during a
 * deployment: they take each released permit before this process may. As long as this process has the booking, none of
 * them can book.
 */
const GIVE_UP_US = 10_000_000;

/** The store forgets a booking and its permit after this time, unless they are renewed. */
const BOOKING_RULE: LeasesRule = { ...makeLeasesRule(1, 1_000_000), code: 'pn' };

/**
 * How long a process leaves a released permit to others before it asks for one again, if no others have taken permits
 * lately: this fraction of the time it held the permit, up to a maximum.
 */
const COURTESY_PART = 1 / 25;
const MAX_COURTESY_US = 50_000;

/**
 * A permit is discarded if the store's answer, or the start of the job, is later than this part of the lease, because
 * the lease may have expired. Leases are renewed after at most a third of their time, so a longer delay means that this
 * process was stopped or the store hung.
 */
const LATEST_PART = 2 / 3;

/** The timeout after which a release is considered lost, and is sent again. */
const RELEASE_US = 1_000_000;

export class Permit {
  readonly step: Step;
  readonly sinceUs: number;
  private uses = 0;
  private readonly permits: Permits;

  constructor(step: Step, sinceUs: number, permits: Permits) {
    this.step = step;
    this.sinceUs = sinceUs;
    this.permits = permits;
  }

  /** Whether this process may use the permit for another job. Each call counts as a use. */
  reuse(nowUs: number): boolean {
    this.uses += 1;
    // A live change may have lowered the limit below the permits that this process holds.
    const isWithin = this.permits.leftFor(this.step.key, 0) >= 0;
    return isWithin && this.uses <= MAX_REUSES && nowUs - this.sinceUs < MAX_REUSE_US;
  }

  /** Whether the lease may have expired if the answer or the start was this late. */
  mayHaveExpired(lateUs: number): boolean {
    return lateUs > (this.step.rule as LeasesRule).leaseUs * LATEST_PART;
  }

  release(): void {
    this.permits.release(this);
  }
}

export interface Booking {
  readonly lease: Lease;
  readonly sinceUs: number;
}

export interface Booked {
  /** Undefined if the booking was rejected or ended. */
  readonly booking: Booking | undefined;
  /** How long to wait before asking again, in microseconds. If 0, the process should take a permit now. */
  readonly waitUs: number;
}

export class Permits {
  readonly live: LiveRule<LeasesRule>;
  private readonly client: DirectClient;
  private readonly limit: Limit;
  private readonly pending: PendingCalls;
  private readonly upkeep: Upkeep;
  private readonly random: () => number;
  private readonly held = new Set<Permit>();
  private readonly heldByKey = new Map<string, number>();
  /** Whether the store has missed a release, which {@link catchUp} sends again. */
  hasMissed = false;
  /** The usual run time of a job, within the bounds that {@link pollUs} can use. */
  private runUs = MIN_POLL_US / POLL_PART;

  constructor(
    client: DirectClient,
    live: LiveRule<LeasesRule>,
    pending: PendingCalls,
    random: () => number,
  ) {
    this.client = client;
    this.live = live;
    this.limit = client.limit(live.name, live.declared.rule);
    this.pending = pending;
    this.random = random;
    const { upkeep } = live.declared.rule.logic;
    const track = <T>(call: Promise<T>): Promise<T> => pending.track(call) as Promise<T>;
    this.upkeep = (upkeep as NonNullable<typeof upkeep>)(client.store, track);
  }

  lookStep(key: string): Step {
    return this.step('look', key);
  }

  takeStep(key: string, lease: Lease = newLease()): Step {
    return { ...this.step('take', key), lease };
  }

  private step(op: 'look' | 'take', key: string): Step {
    this.upkeep.keepUp();
    return { ...this.limit.step(op, key, 1), ...this.live.ruleFor(key) };
  }

  readPermit(step: Step, answer: Answer, isGranted: boolean): Permit | undefined {
    if (step.op !== 'take') return undefined;
    if (isGranted) return this.hold(step, answer);
    // The store may have granted the permit, although the answer was lost.
    if (answer.failure) this.giveBack([step]);
    return undefined;
  }

  /**
   * The step that reads whether a process has a booking. Undefined with a store in memory, which no other process uses.
   */
  bookingStep(key: string): Step | undefined {
    return this.client.store.sync ? undefined : bookingOf(this.lookStep(key));
  }

  mayBook(key: string, waitingSinceUs: number): boolean {
    const isPossible = !this.client.store.sync && this.leftFor(key, 0) > 0;
    return isPossible && this.turnsSince(waitingSinceUs) >= BOOK_AFTER * (1 + this.heldOf(key));
  }

  private turnsSince(us: number): number {
    return (this.client.store.clock.nowUs() - us) / this.turnUs;
  }

  private get turnUs(): number {
    return Math.max(this.runUs, MIN_TURN_US);
  }

  /**
   * Books the next permit, or renews the booking. A booking is a lease beyond the limit, and only one process can have
   * one. When another process releases a permit, the booking fills the free place. Other processes still see the limit
   * reached, and this process starts its job with the booked permit.
   *
   * @param held the booking to renew; undefined if there is none yet
   */
  book(key: string, held: Booking | undefined, waitingSinceUs: number): Eventually<Booked> {
    const nowUs = this.client.store.clock.nowUs();
    const booking = held ?? { lease: newLease(), sinceUs: nowUs };
    const { lease, sinceUs } = booking;
    const steps = this.bookingSteps(key, lease);
    const bookedUs = nowUs - sinceUs;
    const { limit } = this.live.ruleFor(key).rule;
    const answered = this.client.ask(steps, (answers) => {
      const [{ used, failure }] = answers as readonly [LeasesAnswer];
      const isHeld = answers.every(({ allowed }) => allowed);
      // The store may have booked the permit, although the answer was lost. Of the two leases of a booking, one may
      // have expired.
      if (!isHeld && (failure || held)) this.endBooking(key, lease);
      // If permits are free beside the booking of another process, this process takes one without a booking.
      const takesNow = isHeld ? used <= limit : failure !== undefined || used < limit;
      const pollUs = this.pollUs(key);
      const bookedPollUs = Math.min(
        Math.max(pollUs * BOOKED_PART, bookedUs * BOOKED_SHARE),
        MAX_BOOKED_POLL_US,
      );
      const isEarly = this.turnsSince(waitingSinceUs) < LONG_WAIT;
      const waitUs = isHeld ? bookedPollUs : pollUs * (isEarly ? SHORT_WAIT_POLLS : 1);
      return { booking: isHeld ? booking : undefined, waitUs: takesNow ? 0 : waitUs };
    });
    return this.pending.track(answered);
  }

  /** Whether a booking must be given up, because it has not led to a permit for long. */
  isUseless({ sinceUs }: Booking): boolean {
    return this.client.store.clock.nowUs() - sinceUs > GIVE_UP_US;
  }

  /** Ends a booking. Without `permit`, no job uses the booked permit, so it is given back too. */
  endBooking(key: string, lease: Lease, permit?: Permit): void {
    const steps = this.bookingSteps(key, lease);
    this.giveBack(permit ? steps.slice(1) : steps);
  }

  private bookingSteps(key: string, lease: Lease): readonly Step[] {
    const { rule } = this.live.ruleFor(key);
    const { limit, open } = rule;
    const beyond = { ...rule, limit: limit + 1, open: open + 1, leaseUs: BOOKING_RULE.leaseUs };
    // The fallback must not grant a permit beyond the limit.
    const step: Step = { ...this.takeStep(key, lease), rule: beyond, onStoreError: 'deny' };
    return [step, bookingOf(step)];
  }

  private hold(step: Step, answer: Answer): Permit {
    const permit = new Permit(step, this.client.store.clock.nowUs(), this);
    const turn = { step, answer, decision: { allowed: true } };
    this.upkeep.begin(turn, [turn]);
    this.held.add(permit);
    this.heldByKey.set(step.key, this.heldOf(step.key) + 1);
    return permit;
  }

  release(permit: Permit): void {
    if (!this.held.delete(permit)) return;
    const { step } = permit;
    const left = this.heldOf(step.key) - 1;
    if (left > 0) this.heldByKey.set(step.key, left);
    else this.heldByKey.delete(step.key);
    this.upkeep.release(step);
    this.giveBack([step]);
  }

  heldOf(key: string): number {
    return this.heldByKey.get(key) ?? 0;
  }

  /**
   * How many more permits this process may take. Its own permits count as taken even if the store does not know them.
   */
  leftFor(key: string, running: number): number {
    return this.live.ruleFor(key).rule.limit - Math.max(running, this.heldOf(key));
  }

  learnRun(us: number): void {
    const leastUs = Math.max(this.runUs / MAX_RUN_CHANGE, MIN_POLL_US / POLL_PART);
    const mostUs = Math.min(this.runUs * MAX_RUN_CHANGE, MAX_POLL_US / POLL_PART);
    this.runUs = Math.min(Math.max(us, leastUs), mostUs);
  }

  /**
   * How long to wait before asking again after a rejection. Processes that hold permits ask less often, so the others
   * get a permit sooner.
   */
  pollUs(key: string): number {
    const us = this.runUs * POLL_PART;
    const share = this.heldOf(key) / this.live.ruleFor(key).rule.limit;
    const averageUs = Math.min(us * (1 + 2 * share) + MIN_POLL_US / 2, MAX_POLL_US);
    return averageUs * (1 / 2 + this.random());
  }

  /**
   * How long to leave a released permit to other processes; 0 for a store in memory, which has no other processes.
   *
   * @param isContended whether others have taken permits lately
   */
  courtesyUs({ step, sinceUs }: Permit, isContended: boolean, nowUs: number): number {
    if (this.client.store.sync) return 0;
    if (isContended) return this.pollUs(step.key);
    return Math.min((nowUs - sinceUs) * COURTESY_PART, MAX_COURTESY_US);
  }

  /**
   * Call it when the store is back. Renews leases that the store may have lost, and resends releases that it may have
   * missed.
   */
  catchUp(): void {
    this.upkeep.catchUp();
  }

  async close(): Promise<void> {
    this.held.clear();
    this.heldByKey.clear();
    await this.upkeep.close(this.client.store.clock.nowUs() + RELEASE_US);
  }

  private giveBack(steps: readonly Step[]): void {
    const puts = steps.map((step): Step => ({ ...step, op: 'put' }));
    const noted = this.client.store.link.giveBack(
      puts,
      (answers) => {
        this.hasMissed ||= answers.some(({ failure }) => failure);
        this.upkeep.noteAnswers(puts, answers);
      },
      RELEASE_US,
    );
    void this.pending.track(noted);
  }
}

function newLease(): Lease {
  return { id: newLeaseId(), critical: false };
}

function bookingOf(step: Step): Step {
  return { ...step, rule: BOOKING_RULE, onStoreError: 'deny' };
}
