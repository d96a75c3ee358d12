/**
 * The queue of one key in this process. A job passes through it in four steps:
 *
 * 1. *Admission.* The queue uses a spare slot, or asks the store for one. If it gets no slot within `maxWait`, the job
 *    is rejected. With `maxConcurrent`, the job is accepted without a slot. When it is the first in line and a slot is
 *    due, it gets the slot and a permit in one call.
 * 2. *Waiting.* The job waits for its start in the {@link Schedule}. If a pause or an outage voids its slot, the queue
 *    asks the store for another one.
 * 3. *Check.* Shortly before the start, the queue asks the store whether the key is paused, unless an earlier answer
 *    covers this start.
 * 4. *Start*, or expiry: a job that could not start in time is rejected.
 *
 * {@link JobQueue.runDue} does what is due. A timer, each answer and each change call it.
 */

import { isLater } from '@spillway/core/adapter';
import { type Eventually, outside } from '@spillway/core/direct';
import { delayOf, type QueueAnswer, type QueueRule } from '@spillway/core/store';
import type { Job } from './job.js';
import { KeyPause } from './key-pause.js';
import { LocalPace } from './local-pace.js';
import { type Cost, type Paces, periodOf } from './paces.js';
import { CHECK_AHEAD_US } from './pause-check-time.js';
import type { Booked, Booking, Permit, Permits } from './permits.js';
import { Schedule } from './schedule.js';
import { periodUsOf, type Slot, type SlotAnswer, type SlotClient, waitBehind } from './slots.js';

/**
 * A valid slot can seem to be this much further ahead than `maxWait`, because the clock of the store is only estimated.
 */
const SLACK_US = 1_000_000;

/**
 * How long to wait before asking the store again for slots of accepted jobs, if it granted a slot inside a pause.
 * Without `maxConcurrent`, also the shortest wait after a rejection or a failure.
 */
const REFILL_PAUSE_US = 50_000;

/** The most slots that are requested at once for accepted jobs. A Redis store grants them in one call. */
const MAX_REFILL = 256;

/**
 * If a job got no permit because other processes held some, this process leaves half of the free permits to them for
 * this long.
 */
const CONTENDED_US = 1_000_000;

/**
 * With `maxConcurrent`: how long to wait at least before asking again for a slot that is not due yet. By then, several
 * slots may be due, and one call can get them.
 */
const DUE_PAUSE_US = 25_000;

/**
 * With `maxConcurrent`: at most how long to leave a slot to other processes once it can be taken. The longer a process
 * has waited, the earlier it asks. If all asked at once, only those nearest to the store would get slots.
 */
const MAX_YIELD_US = 25_000;

export interface JobQueueHost {
  readonly paces: Paces;
  readonly slots: SlotClient;
  readonly permits: Permits | undefined;
  startJob(job: Job, slot: Slot): void;
  expireJob(job: Job, key: string, waitMs: number): void;
  queueChanged(queue: JobQueue): void;
}

export class JobQueue {
  readonly key: string;
  wakeUs: number = Infinity;
  private readonly host: JobQueueHost;
  private readonly paces: Paces;
  private readonly slots: SlotClient;
  private readonly permits: Permits | undefined;
  /** Permits of ended jobs, for the next jobs. */
  private readonly freePermits: Permit[] = [];
  private contendedUntilUs = -Infinity;
  /**
   * The time since which no permit was free for a job; Infinity if the last job got one, or if no job waits for one.
   */
  private lacksPermitSinceUs = Infinity;
  private booking: Booking | undefined;
  private readonly schedule: Schedule;
  private readonly pause: KeyPause;
  private readonly localPaces: readonly LocalPace[];
  /** Jobs that are neither accepted nor rejected yet. */
  private readonly undecided = new Set<Job>();
  /** How many calls for slots of new jobs are pending, including those for jobs that were aborted meanwhile. */
  private pendingTakes = 0;
  private isChecking = false;
  private lastStartUs = -Infinity;
  private lastTakeUs = -Infinity;
  private isRefilling = false;
  private refillFromUs = -Infinity;
  private isCancelling = false;
  private cancelling: Promise<void> | undefined;
  /** If the store has lost its data, all its slots are delayed by this time. See {@link detectLoss}. */
  private lostUs = 0;

  constructor(key: string, host: JobQueueHost) {
    this.key = key;
    this.host = host;
    this.paces = host.paces;
    this.slots = host.slots;
    this.permits = host.permits;
    this.schedule = new Schedule(host.permits !== undefined);
    this.pause = new KeyPause(key, host.slots);
    this.localPaces = host.paces.one.units.map((_, index) => new LocalPace(index));
  }

  get length(): number {
    return this.schedule.length + this.undecided.size;
  }

  isIdle(nowUs: number): boolean {
    const { schedule, pause, pendingTakes } = this;
    const isEmpty = this.length === 0 && schedule.firstSlot === undefined;
    const isBusy = pendingTakes > 0 || this.isChecking || this.isRefilling || this.isCancelling;
    // The queue is kept until its pause ends, because the store may fail before that.
    const endUs = Math.max(this.localFullUs, pause.endUs(nowUs));
    return isEmpty && !isBusy && endUs <= nowUs && pause.isSent(nowUs);
  }

  /**
   * The next time at which {@link runDue} has something to do or the queue becomes idle. Infinity if the queue only
   * waits for an answer.
   */
  dueUs(nowUs: number): number {
    const { pause } = this;
    const dueUs = Math.min(
      this.slotDueUs(),
      this.refillDueUs(),
      pause.resendDueUs,
      this.expiryUs(),
    );
    if (dueUs < Infinity) return dueUs;
    const idleUs = Math.max(this.localFullUs, pause.unsentUntilUs, pause.endUs(nowUs));
    return idleUs > nowUs ? idleUs : Infinity;
  }

  /** Call this when this process's clock was set back, because times that were near then lie far ahead now. */
  forgetTimes(): void {
    this.refillFromUs = -Infinity;
    this.contendedUntilUs = -Infinity;
    this.lastStartUs = -Infinity;
    this.pause.forgetAnswers();
  }

  runDue(): void {
    const nowUs = this.slots.nowUs();
    this.dropVoidSlots(nowUs);
    this.startDue(nowUs);
    this.expireDue(nowUs);
    this.checkDue(nowUs);
    if (this.refillDueUs() <= nowUs) void this.refill();
    if (this.pause.resendDueUs <= nowUs) void this.resendPause();
    if (this.permits && !this.isRefilling && this.nextCosts(1).length === 0) this.endWait();
    this.host.queueChanged(this);
  }

  private get localFullUs(): number {
    let us = -Infinity;
    for (const pace of this.localPaces) us = Math.max(us, pace.fullUs);
    return us;
  }

  /**
   * Accepts a job if there is a slot for it, or if there is `maxConcurrent`. Otherwise calls `onRejected` with the
   * answer of the store, unless the job was aborted meanwhile.
   */
  enqueue(job: Job, onRejected: (answer: SlotAnswer) => void): void {
    const { schedule, slots, key } = this;
    this.dropPassedSlots();
    if (!schedule.firstSlot) this.lostUs = 0;
    if (this.permits || schedule.hasSpare(job.cost)) {
      this.accept(job);
      this.runDue();
      return;
    }
    const { lastSlot } = schedule;
    this.undecided.add(job);
    this.pendingTakes += 1;
    void slots.takeSlot(key, job.cost, (answer) =>
      this.decideJob(job, answer, lastSlot, onRejected),
    );
  }

  private decideJob(
    job: Job,
    taken: SlotAnswer,
    lastSlot: Slot | undefined,
    onRejected: (answer: SlotAnswer) => void,
  ): void {
    const { schedule } = this;
    this.undecided.delete(job);
    this.pendingTakes -= 1;
    this.learnFromStore(taken);
    const answer = this.delaySlot(taken, lastSlot);
    if (answer.slot) schedule.addSlot(answer.slot);
    if (!job.isWaiting) void this.cancelSpareSlots();
    else if (answer.slot || schedule.hasSpare(job.cost)) this.accept(job);
    else onRejected(answer);
    this.runDue();
  }

  private accept(job: Job): void {
    job.deadlineUs = this.slots.nowUs() + this.paces.waitUs;
    this.schedule.addJob(job);
  }

  drop(job: Job): void {
    this.undecided.delete(job);
    if (!this.schedule.removeJob(job)) return;
    void this.cancelSpareSlots();
    this.runDue();
  }

  /**
   * How long a job of one unit would wait if it came now, in milliseconds.
   *
   * @param answer the newest answer of the store
   */
  waitMs(priority: number, answer: SlotAnswer): number {
    const { schedule, paces } = this;
    this.dropPassedSlots();
    const nowUs = this.slots.nowUs();
    // With `maxConcurrent`, the jobs ahead have no slots yet.
    const ahead = this.permits ? schedule.unitsAhead(priority, paces.one.units.length) : undefined;
    const storeMs = ahead ? waitBehind(answer, ahead) : answer.waitMs;
    const ownUs = schedule.spareSlot(paces.one)?.at.localUs ?? nowUs + storeMs * 1_000;
    return Math.max(0, schedule.startUs(paces.one, priority, ownUs) - nowUs) / 1_000;
  }

  takeSpareSlot(cost: Cost): Slot | undefined {
    this.dropPassedSlots();
    const slot = this.schedule.spareSlot(cost);
    if (slot) this.schedule.removeSlot(slot);
    return slot;
  }

  /** Returns the time at which the work of a reservation may start, by this process's clock. Counts that start. */
  reserveSlot(slot: Slot, nowUs: number): number {
    const startUs = Math.max(this.startUs(slot), nowUs);
    this.countStart(slot, startUs, nowUs);
    this.host.queueChanged(this);
    return startUs;
  }

  /** Adds a slot for the next job. Then cancels slots that no job needs. */
  addSlot(slot: Slot): void {
    for (const pace of this.localPaces) pace.uncount(slot);
    this.schedule.addSlot(slot);
    void this.cancelSpareSlots();
    this.runDue();
  }

  get pausedMs(): number {
    const nowUs = this.slots.nowUs();
    return (this.pause.endUs(nowUs) - nowUs) / 1_000;
  }

  async beginPause(holdUs: number): Promise<SlotAnswer> {
    const sending = this.pause.beginPause(holdUs);
    this.runDue();
    const answer = await sending;
    this.handle(answer);
    return answer;
  }

  handle(answer: SlotAnswer): void {
    this.learnFromStore(answer);
    this.runDue();
  }

  private learnFromStore(answer: SlotAnswer): void {
    // The store works again, and does not know the slots that the fallback granted.
    if (!answer.failure) this.schedule.dropLocalSlots();
    this.pause.learnPause(answer);
  }

  /**
   * Removes all jobs; the caller has already rejected them. Resolves when all slots that can be cancelled are
   * cancelled.
   */
  async cancelJobs(): Promise<void> {
    this.schedule.removeJobs();
    this.undecided.clear();
    this.releaseFreePermits();
    const sending = this.pause.resend();
    this.pause.forget();
    await Promise.all([sending, this.cancelSpareSlots()]);
  }

  /** Whether no job may start on the slot any more, because it lies in a pause or was missed. */
  isVoid(slot: Slot, nowUs: number = this.slots.nowUs()): boolean {
    return this.pause.isPaused(slot) || this.isMissed(slot, nowUs);
  }

  private isMissed(slot: Slot, nowUs: number): boolean {
    const lateUs = nowUs - this.startUs(slot);
    if (slot.permit?.mayHaveExpired(lateUs)) return true;
    const periodUs = periodUsOf(slot);
    if (lateUs <= CHECK_AHEAD_US || lateUs <= periodUs) return false;
    if (this.isChecking && !this.isChecked(slot)) return false;
    // If an answer came too late for several slots, their jobs must not start together.
    return !this.pause.explainsDelay(lateUs) || nowUs - this.lastStartUs < periodUs;
  }

  /**
   * When work may start on the slot, by this process's clock. This is later than the slot's time if the slot follows
   * too soon after starts that the store did not count.
   */
  private startUs(slot: Slot): number {
    let us = slot.at.localUs;
    for (const pace of this.localPaces) us = Math.max(us, pace.earliestUs(slot));
    return us;
  }

  private countStart(slot: Slot, startUs: number, nowUs: number): void {
    for (const pace of this.localPaces) pace.count(slot, startUs, nowUs);
    if (startUs <= nowUs) this.lastStartUs = nowUs;
  }

  private dropVoidSlots(nowUs: number): void {
    const { schedule } = this;
    while (schedule.firstSlot && this.isVoid(schedule.firstSlot, nowUs)) {
      schedule.dropSlot(schedule.firstSlot);
    }
    // No store grants slots this far ahead, so its clock or this process's clock was set back.
    const latestUs = nowUs + this.paces.waitUs + SLACK_US;
    while (schedule.lastSlot && schedule.lastSlot.at.localUs > latestUs) {
      schedule.dropSlot(schedule.lastSlot);
    }
  }

  /** Removes void and past slots, which a new job must not use. The timer that removes them may run too late. */
  private dropPassedSlots(): void {
    const nowUs = this.slots.nowUs();
    this.dropVoidSlots(nowUs);
    this.schedule.dropPassedSlots((slot) => this.startUs(slot) < nowUs);
  }

  private slotDueUs(): number {
    const { firstSlot, length } = this.schedule;
    if (!firstSlot) return Infinity;
    const isReady = length === 0 || this.isChecked(firstSlot);
    return Math.min(isReady ? this.startUs(firstSlot) : Infinity, this.checkDueUs());
  }

  private startDue(nowUs: number): void {
    const { schedule } = this;
    for (let slot = schedule.firstSlot; slot; slot = schedule.firstSlot) {
      const isVoid = this.isVoid(slot, nowUs);
      if (!isVoid && this.startUs(slot) > nowUs) return;
      if (!isVoid && schedule.length > 0 && !this.isChecked(slot)) return;
      const job = isVoid ? undefined : schedule.startJob(slot);
      if (isVoid) schedule.dropSlot(slot);
      else if (!job) slot.permit?.release();
      if (!job) continue;
      this.countStart(slot, nowUs, nowUs);
      this.host.startJob(job, slot);
    }
  }

  /**
   * The time at which the oldest job is rejected if it has not started. This is some time after the job's deadline,
   * because a job may start later than its slot.
   */
  private expiryUs(): number {
    const { oldestJob } = this.schedule;
    if (!oldestJob) return Infinity;
    return oldestJob.deadlineUs + Math.max(CHECK_AHEAD_US, this.paces.periodUs);
  }

  private expireDue(nowUs: number): void {
    const { schedule, paces } = this;
    // No deadline can be this far ahead, so this process's clock was set back.
    const latestUs = nowUs + paces.waitUs + SLACK_US;
    if (schedule.oldestJob && schedule.oldestJob.deadlineUs > latestUs) {
      schedule.capDeadlines(latestUs);
    }
    let isAny = false;
    while (this.expiryUs() < nowUs) {
      const job = schedule.oldestJob as Job;
      const waitedUs = nowUs - job.deadlineUs + paces.waitUs;
      schedule.removeJob(job);
      this.host.expireJob(job, this.key, (waitedUs + this.pause.endUs(nowUs) - nowUs) / 1_000);
      isAny = true;
    }
    if (isAny) void this.cancelSpareSlots();
  }

  private isChecked(slot: Slot): boolean {
    return this.pause.isChecked(this.startUs(slot));
  }

  private uncheckedSlot(): Slot | undefined {
    if (this.schedule.length === 0 || this.isChecking) return undefined;
    return this.schedule.firstSlotNot((slot) => this.isChecked(slot));
  }

  private checkDueUs(): number {
    const slot = this.uncheckedSlot();
    return slot ? this.checkUs(slot) : Infinity;
  }

  private checkUs(slot: Slot): number {
    const startUs = this.startUs(slot);
    // The check for a later slot is made as late as possible, because it then covers more of the starts after it.
    const isFirst = slot === this.schedule.firstSlot;
    const { checkTime } = this.slots;
    return isFirst ? checkTime.checkUs(startUs) : checkTime.latestUs(startUs);
  }

  private checkDue(nowUs: number): void {
    const slot = this.uncheckedSlot();
    if (!slot || this.checkUs(slot) > nowUs) return;
    this.isChecking = true;
    const startUs = this.startUs(slot);
    const coveredUs = nowUs + startUs - this.slots.checkTime.checkUs(startUs);
    void this.slots.peek(this.key, (answer) => {
      this.isChecking = false;
      if (!answer.pausedUntil) this.pause.passCheck(coveredUs);
      this.handle(answer);
    });
  }

  private async resendPause(): Promise<void> {
    const answer = await this.pause.resend();
    if (answer) this.handle(answer);
  }

  private refillDueUs(): number {
    if (this.isRefilling || this.nextCosts(1).length === 0) return Infinity;
    return Math.max(this.refillFromUs, this.pause.unknownToStoreUs);
  }

  private nextCosts(max: number): readonly Cost[] {
    return this.permits ? this.schedule.nextCosts(max) : this.schedule.missingCosts(max);
  }

  /**
   * Takes slots for accepted jobs that have none. With `maxConcurrent` these are all jobs, otherwise only jobs whose
   * slots became void.
   */
  private async refill(): Promise<void> {
    const { slots } = this;
    this.isRefilling = true;
    this.giveUpUselessBooking();
    // With a store in memory, nothing is awaited before the first take, so a job starts at once.
    const booked = this.mayBook ? await this.book(this.permits as Permits) : undefined;
    if (booked && booked.waitUs > 0) {
      this.isRefilling = false;
      this.runDue();
      return;
    }
    let max = this.maxRefill(undefined, 0);
    for (let costs = this.nextCosts(Math.min(max, 1)); costs.length > 0; ) {
      const last = await this.takeEach(costs);
      // A job that has ended meanwhile may have left a permit.
      const isFreed = last.lacksPermit && this.freePermits.length > 0;
      if (!isFreed && this.refillFromUs > slots.nowUs()) break;
      max = booked?.booking ? 0 : this.maxRefill(last.running, costs.length);
      costs = firstWithin(this.roomAfter(last), this.nextCosts(max));
    }
    if (max === 0) this.refillFromUs = slots.nowUs() + (this.permits?.pollUs(this.key) ?? 0);
    this.isRefilling = false;
    this.releaseFreePermits();
    this.runDue();
  }

  private get mayBook(): boolean {
    const { booking, permits, key, lacksPermitSinceUs } = this;
    return booking !== undefined || permits?.mayBook(key, lacksPermitSinceUs) === true;
  }

  private giveUpUselessBooking(): void {
    const { booking, permits, key } = this;
    if (!booking || !permits?.isUseless(booking)) return;
    permits.endBooking(key, booking.lease);
    this.booking = undefined;
    // Other processes get the next booking.
    this.lacksPermitSinceUs = this.slots.nowUs();
  }

  private async book(permits: Permits): Promise<Booked> {
    const booked = await permits.book(this.key, this.booking, this.lacksPermitSinceUs);
    this.booking = booked.booking;
    if (booked.waitUs > 0) this.refillFromUs = this.slots.nowUs() + booked.waitUs;
    return booked;
  }

  /** Ends the booking of a permit, if there is one. Call this when no job waits for a permit any more. */
  private endWait(): void {
    this.lacksPermitSinceUs = Infinity;
    if (this.booking) this.permits?.endBooking(this.key, this.booking.lease);
    this.booking = undefined;
  }

  /**
   * How many slots to take at once. With `maxConcurrent`, this is at most the number of free permits, or half of it if
   * other processes want permits too.
   *
   * @param running how many permits are taken in all processes; undefined before the first take, if the last slot was
   * taken with a reused permit, and if the store failed
   * @param taken how many slots were just taken
   */
  private maxRefill(running: number | undefined, taken: number): number {
    const { permits, freePermits, key, contendedUntilUs, slots } = this;
    if (!permits) return MAX_REFILL;
    const left = permits.leftFor(key, running ?? 0);
    if (running === undefined) return Math.max(freePermits.length, Math.min(left, 1));
    const half = Math.floor((left + taken) / 2) - taken;
    const isContended = contendedUntilUs > slots.nowUs();
    return Math.min(Math.max(isContended ? half : left, freePermits.length, 0), MAX_REFILL);
  }

  private async takeEach(costs: readonly Cost[]): Promise<SlotAnswer> {
    const { lastSlot } = this.schedule;
    const takes = costs.map((cost) => this.takeOne(cost));
    // A store in memory answers without a promise. Then nothing is awaited, and a job starts at once.
    const taken = takes.some(isLater) ? await Promise.all(takes) : (takes as SlotAnswer[]);
    for (const answer of taken) this.handle(answer);
    const before = this.permits ? undefined : lastSlot;
    const answers = taken.map((answer) => this.delaySlot(answer, before));
    const slots = answers.flatMap(({ slot }) => slot ?? []);
    // The last slot is cancelled first, because the fallback cancels only the last slot that it granted.
    const useless = slots.filter((slot) => this.isUseless(slot)).reverse();
    for (const slot of useless) void this.slots.cancel(slot);
    for (const slot of slots) if (!useless.includes(slot)) this.addSlot(slot);
    this.refillFromUs = Math.max(...answers.map((answer) => this.nextTakeUs(answer)));
    return answers.at(-1) as SlotAnswer;
  }

  private takeOne(cost: Cost): Eventually<SlotAnswer> {
    const { slots, permits, key } = this;
    if (!permits) return slots.takeSlot(key, cost, (answer) => answer);
    const permit = this.freePermits.shift();
    const booking = permit ? undefined : this.booking;
    if (booking) this.booking = undefined;
    return slots.takeDueSlot(key, cost, permit, booking?.lease, (answer) => {
      const { slot, answers, failure, lacksPermit, running = 0, receivedUs } = answer;
      if (slot) {
        if (booking) permits.endBooking(key, booking.lease, slot.permit);
        this.lacksPermitSinceUs = Infinity;
        this.lastTakeUs = receivedUs;
      } else {
        permit?.release();
        // If the store granted nothing, the booking is kept. If it may have granted a permit, that was given back. Then
        // the booking ends too, because a late release could also end a later permit with the same lease.
        const isTaken = failure !== undefined || answers.every(({ allowed }) => allowed);
        if (!isTaken) this.booking ??= booking;
        else if (booking) permits.endBooking(key, booking.lease);
        if (lacksPermit) this.lacksPermitSinceUs = Math.min(this.lacksPermitSinceUs, receivedUs);
      }
      if (lacksPermit && running > permits.heldOf(key)) {
        this.contendedUntilUs = receivedUs + CONTENDED_US;
      }
      return answer;
    });
  }

  /**
   * How many more units of each pace could be taken within the longest wait of the step's rule if no other process took
   * any.
   */
  private roomAfter({ steps, answers, isUnknown }: SlotAnswer): readonly number[] {
    return steps.map((step, at) => {
      const rule = step.rule as QueueRule;
      const waitUs = isUnknown ? Infinity : delayOf(rule, answers[at] as QueueAnswer) * 1_000;
      return (rule.waitUs - waitUs) / periodOf(rule);
    });
  }

  returnPermit(permit: Permit): void {
    const nowUs = this.slots.nowUs();
    const isWanted = this.nextCosts(1).length > 0;
    if (isWanted && permit.reuse(nowUs)) {
      this.freePermits.push(permit);
      this.refillFromUs = -Infinity;
    } else {
      permit.release();
      const isContended = this.contendedUntilUs > nowUs;
      const courtesyUs = this.permits?.courtesyUs(permit, isContended, nowUs) ?? 0;
      const askUs = nowUs + courtesyUs;
      if (isWanted && this.refillFromUs > nowUs) {
        this.refillFromUs = Math.min(this.refillFromUs, askUs);
      } else if (isWanted) this.refillFromUs = askUs;
    }
    this.runDue();
    // If no refill runs, a pause delays the next one. Until then, other processes can use the permits.
    if (!this.isRefilling) this.releaseFreePermits();
  }

  private releaseFreePermits(): void {
    for (const permit of this.freePermits.splice(0)) permit.release();
  }

  /**
   * Whether the fallback granted this slot inside a pause. The fallback may have been too full to store the pause, or
   * it learned of the pause too late.
   */
  private isUseless(slot: Slot): boolean {
    return slot.isLocal && this.pause.isPaused(slot);
  }

  private nextTakeUs({ slot, steps, waitMs, lacksPermit, askedUs }: SlotAnswer): number {
    const { pause, permits } = this;
    const nowUs = this.slots.nowUs();
    if (slot && this.isUseless(slot)) return pause.endUs(nowUs);
    // A slot inside a pause will be dropped. The store should not grant one, so wait before asking again.
    if (slot) return pause.isPaused(slot) ? nowUs + REFILL_PAUSE_US : nowUs;
    // The store grants only slots that are at most `waitUs` away.
    const waitUs = Math.max(...steps.map(({ rule }) => (rule as QueueRule).waitUs));
    const freeUs = Number.isFinite(waitMs) ? waitMs * 1_000 - waitUs : 0;
    if (!permits) return nowUs + Math.max(freeUs, REFILL_PAUSE_US);
    const pauseUs = lacksPermit ? permits.pollUs(this.key) : DUE_PAUSE_US;
    // Since the answer was asked for, not received. Otherwise a process far from the store would always be late.
    return Math.max(askedUs + freeUs + this.yieldUs(nowUs, periodUsOf({ steps })), nowUs + pauseUs);
  }

  private yieldUs(nowUs: number, periodUs: number): number {
    const { oldestJob } = this.schedule;
    const cameUs = oldestJob ? oldestJob.deadlineUs - this.paces.waitUs : nowUs;
    const waitedUs = nowUs - Math.max(this.lastTakeUs, cameUs);
    return MAX_YIELD_US / (1 + Math.max(0, waitedUs) / periodUs);
  }

  /**
   * Delays the slot of an answer if it would follow too soon after starts that the store does not know about. If the
   * wait is then longer than `maxWait`, cancels the slot and returns the answer without it.
   *
   * @param before the last slot of the schedule when the store was asked
   */
  delaySlot(answer: SlotAnswer, before: Slot | undefined): SlotAnswer {
    const { lastSlot } = this.schedule;
    // Without earlier slots, the loss no longer matters. If `lostUs` were kept, jobs could wait forever for slots that
    // are too far ahead.
    if (!lastSlot) this.lostUs = 0;
    const { slot, receivedUs } = answer;
    if (!slot || slot.isLocal) return answer;
    if (before && lastSlot?.at.isBefore(before.at) === false) this.detectLoss(slot, before);
    const { lostUs } = this;
    const delayed = lostUs > 0 ? { ...slot, at: slot.at.plus(lostUs) } : slot;
    const startUs = this.startUs(delayed);
    if (startUs <= slot.at.localUs) return answer;
    const waitMs = (startUs - receivedUs) / 1_000;
    if (startUs - receivedUs <= this.paces.waitUs) return { ...answer, slot: delayed, waitMs };
    void this.slots.cancel(slot);
    return { ...answer, slot: undefined, waitMs };
  }

  /**
   * Checks whether the store has lost its data: then the new slot comes before slots granted earlier. If so, the queue
   * delays all slots of the store by the same time until it has no slots left, so that they come after the earlier
   * ones.
   */
  private detectLoss(slot: Slot, before: Slot): void {
    // After a change of the pace, a burst may begin before earlier slots. That is no loss.
    const isSamePace = slot.steps.every(({ rule }, at) => rule === before.steps[at]?.rule);
    if (before.isLocal || !isSamePace) return;
    if (!slot.at.plus(this.lostUs).isBefore(before.at)) return;
    const costUs = Math.max(
      ...slot.steps.map(({ cost, rule }) => cost * periodOf(rule as QueueRule)),
    );
    this.lostUs = Math.ceil(before.at.localUs - slot.at.localUs + costUs);
  }

  /** Cancels spare slots, the last one first. Resolves when no more can be cancelled; never rejects. */
  private cancelSpareSlots(): Promise<void> {
    // All callers share the promise, but must not share the async context of the first one.
    if (!this.isCancelling || !this.cancelling) {
      this.cancelling = outside(() => this.cancelEachSpareSlot());
    }
    return this.cancelling;
  }

  private async cancelEachSpareSlot(): Promise<void> {
    const { schedule } = this;
    this.isCancelling = true;
    const lastSpare = (): Slot | undefined => {
      const { lastSlot } = schedule;
      return lastSlot && schedule.hasSpare(lastSlot.cost) ? lastSlot : undefined;
    };
    for (let slot = lastSpare(); slot; slot = lastSpare()) {
      schedule.removeSlot(slot);
      const cancelled = await this.slots.cancel(slot);
      if (cancelled === 'done') continue;
      if (cancelled === 'kept' && !slot.permit) schedule.addSlot(slot); // for the next job of this cost
      if (cancelled === 'unknown' || schedule.lastSlot === slot) break;
    }
    this.isCancelling = false;
    this.runDue();
  }
}

function firstWithin(units: readonly number[], costs: readonly Cost[]): readonly Cost[] {
  const left = [...units];
  const end = costs.findIndex((cost) => {
    for (const [at, own] of cost.units.entries()) left[at] = (left[at] as number) - own;
    return left.some((rest) => rest < 0);
  });
  return end < 0 ? costs : costs.slice(0, Math.max(end, 1));
}
