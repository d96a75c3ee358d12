/** One key of a shaper in this process: its jobs get slots, look once more before they start, and start. */

import type { QueueRule } from '@spillway/core/store';
import { AHEAD_US } from '../look-ahead.js';
import { Applicants } from './applicants.js';
import type { Job } from './job.js';
import { Known } from './known.js';
import { Line } from './line.js';
import { Looks } from './looks.js';
import { OwnPause } from './own-pause.js';
import { PutOff } from './put-off.js';
import { Refill } from './refill.js';
import type { Heard, Slot, Slots } from './slots.js';
import { SpareSlots } from './spare-slots.js';
import { Timing } from './timing.js';

/** By so much a slot may seem too far away, because the clock of a store is known by its answers only. */
const SLACK_US = 1_000_000;

/** What the keys of a shaper have in common. */
export interface KeyQueueHost {
  readonly rule: QueueRule;
  readonly slots: Slots;
  /** Runs a job whose time has come. */
  start(job: Job, slot: Slot): void;
  /** Rejects a job that was accepted and has not started in time. */
  expire(job: Job, key: string, waitMs: number): void;
  /** Something has changed: perhaps the alarm must be set to another time. */
  changed(queue: KeyQueue): void;
}

export class KeyQueue {
  readonly key: string;
  /** The instant that it is ranked by. */
  alarmUs: number = Infinity;
  readonly rule: QueueRule;
  readonly slots: Slots;
  readonly line: Line = new Line();
  readonly known: Known;
  private readonly timing: Timing;
  private readonly looks: Looks;
  private readonly putOff: PutOff;
  private readonly host: KeyQueueHost;
  private readonly ownPause: OwnPause;
  private readonly applicants: Applicants = new Applicants(this);
  private readonly spare: SpareSlots;
  private readonly refill: Refill;

  constructor(key: string, host: KeyQueueHost) {
    this.key = key;
    this.host = host;
    const { rule, slots } = host;
    this.rule = rule;
    this.slots = slots;
    this.known = new Known(slots.ahead);
    this.timing = new Timing(rule.burst, this.known);
    this.looks = new Looks(this, this.timing);
    this.putOff = new PutOff(this.timing, rule.waitUs);
    this.spare = new SpareSlots(this.line, slots, () => this.turn());
    this.refill = new Refill(this);
    this.ownPause = new OwnPause(key, slots);
  }

  /** Jobs that wait. */
  get length(): number {
    return this.line.length + this.applicants.length;
  }

  /** Whether it knows nothing that a new queue would not. */
  isAtRest(nowUs: number): boolean {
    const { timing, applicants, refill, spare, ownPause } = this;
    const isBusy = applicants.isBusy || timing.isLooking || refill.isBusy || spare.isBusy;
    const isEmpty = this.length === 0 && this.line.first === undefined;
    return isEmpty && !isBusy && timing.localPace.isOver(nowUs) && ownPause.isOver(nowUs);
  }

  /** When {@link turn} has something to do, or it is at rest; Infinity if only an answer can bring that. */
  dueUs(nowUs: number): number {
    const { refill, ownPause } = this;
    const dueUs = Math.min(this.slotDueUs(), refill.dueUs(), ownPause.dueUs, this.expiryUs());
    if (dueUs < Infinity) return dueUs;
    const restUs = Math.max(this.timing.localPace.fullUs, this.ownPause.endUs);
    return restUs > nowUs ? restUs : Infinity;
  }

  private slotDueUs(): number {
    const { timing } = this;
    const { first, length } = this.line;
    if (!first) return Infinity;
    const isSeen = length === 0 || timing.isSeen(first);
    return Math.min(isSeen ? timing.startUs(first) : Infinity, this.looks.dueUs());
  }

  /** Accepts a job if there is a slot for it. `refuse` is told what the store has answered if there is none. */
  apply(job: Job, refuse: (heard: Heard) => void): void {
    this.giveUpPassed();
    if (!this.line.first) this.putOff.forget();
    if (this.line.hasRoomFor(job.cost)) {
      this.accept(job);
      this.turn();
      return;
    }
    this.applicants.add(job, refuse);
  }

  /** From now on it starts within the longest wait, or is rejected. */
  accept(job: Job): void {
    job.deadlineUs = this.slots.nowUs() + this.rule.waitUs;
    this.line.addJob(job);
  }

  /** A job that waits here was aborted: the next one has its slot. */
  drop(job: Job): void {
    this.applicants.drop(job);
    if (!this.line.removeJob(job)) return;
    this.giveBackSpare();
    this.turn();
  }

  /**
   * How long a job of one unit would wait that came now, if no other came after it, in milliseconds.
   *
   * @param behindMs the wait behind all that was taken, as the store has just told
   */
  waitMs(priority: number, behindMs: number): number {
    this.giveUpPassed();
    const nowUs = this.slots.nowUs();
    const ownUs = this.line.spareFor(1)?.at.localUs ?? nowUs + behindMs * 1_000;
    return Math.max(0, this.line.startUs(priority, ownUs) - nowUs) / 1_000;
  }

  /** A slot that jobs here do not need, for work that is done elsewhere. */
  takeSpare(cost: number): Slot | undefined {
    this.giveUpPassed();
    const slot = this.line.spareFor(cost);
    if (slot) this.line.removeSlot(slot);
    return slot;
  }

  /** Work starts elsewhere on a slot. Returns when, by our clock. */
  promise(slot: Slot, nowUs: number): number {
    const startUs = Math.max(this.timing.startUs(slot), nowUs);
    this.timing.use(slot, startUs, nowUs);
    this.host.changed(this);
    return startUs;
  }

  /** A slot that nobody elsewhere needs: jobs here may. */
  release(slot: Slot): void {
    this.timing.localPace.uncount(slot);
    this.line.addSlot(slot);
    this.giveBackSpare();
    this.turn();
  }

  giveBackSpare(): void {
    void this.spare.giveBack();
  }

  /** How much longer it is paused, as far as this process knows, in milliseconds. */
  get pausedMs(): number {
    const nowUs = this.slots.nowUs();
    return (this.known.freeUs(nowUs) - nowUs) / 1_000;
  }

  /** Nothing starts for so long, here whatever the store will say, elsewhere once the store has heard of it. */
  async pause(holdUs: number): Promise<Heard> {
    this.known.pause(this.slots.nowUs() + holdUs);
    const telling = this.ownPause.begin(holdUs);
    this.turn();
    const heard = await telling;
    this.hear(heard);
    return heard;
  }

  /** Learns what an answer tells about the key. */
  hear(heard: Heard): void {
    this.note(heard);
    this.turn();
  }

  /** Forgets its jobs, which were refused; done when their slots were given back, as far as they can be. */
  async close(): Promise<void> {
    this.line.removeJobs();
    this.applicants.dropAll();
    const pause = this.ownPause.tellAgain();
    this.ownPause.end();
    await Promise.all([pause, this.spare.giveBack()]);
  }

  /** Does what is due. */
  turn(): void {
    const nowUs = this.slots.nowUs();
    this.giveUp(nowUs);
    this.startDue(nowUs);
    this.expireDue(nowUs);
    this.looks.begin(nowUs);
    if (this.refill.dueUs() <= nowUs) void this.refill.begin();
    if (this.ownPause.dueUs <= nowUs) void this.tellAgain();
    this.host.changed(this);
  }

  /**
   * What was heard, where the slot may be put off, or given back if it is too far away then.
   *
   * @param last the last slot of the line when the store was asked
   */
  place(told: Heard, last: Slot | undefined): Heard {
    // What the store has lost is over. Else a job whose slots are always put off too far would wait for ever.
    if (!this.line.first) this.putOff.forget();
    const isKept = last !== undefined && this.line.last?.at.isBefore(last.at) === false;
    const heard = this.putOff.place(told, isKept ? last : undefined);
    if (heard !== told && heard.tooFar) void this.slots.giveBack(heard.tooFar);
    return heard;
  }

  /** Whether nothing may start on the slot any more. */
  isVoid(slot: Slot): boolean {
    return this.timing.isVoid(slot, this.slots.nowUs());
  }

  private async tellAgain(): Promise<void> {
    const heard = await this.ownPause.tellAgain();
    if (heard) this.hear(heard);
  }

  /** {@link hear} without doing what is due. */
  note(heard: Heard): void {
    if (!heard.failure) {
      // The store is back, and knows nothing of what was granted meanwhile.
      this.line.removeLocalSlots();
      this.ownPause.storeIsBack();
    }
    this.known.hear(heard);
  }

  /** Slots on which nothing may start any more. Their jobs get others. */
  private giveUp(nowUs: number): void {
    const { line } = this;
    while (line.first && this.timing.isVoid(line.first, nowUs)) line.removeSlot(line.first);
    // No store grants what is further away: its clock was set back.
    const latestUs = nowUs + this.rule.waitUs + SLACK_US;
    while (line.last && line.last.at.localUs > latestUs) line.removeSlot(line.last);
  }

  /** No job that comes now may have a slot that has passed, not even where no alarm has come since. */
  private giveUpPassed(): void {
    const nowUs = this.slots.nowUs();
    this.giveUp(nowUs);
    this.line.removePassed((slot) => this.timing.startUs(slot) < nowUs);
  }

  /** When the job that waits longest is rejected. It may be as late as its slot may be. */
  private expiryUs(): number {
    const { oldest } = this.line;
    if (!oldest) return Infinity;
    return oldest.deadlineUs + Math.max(AHEAD_US, this.rule.windowUs / this.rule.limit);
  }

  /** Jobs that a pause, an outage or a stall of this process has kept from their slots for too long. */
  private expireDue(nowUs: number): void {
    const { line, rule } = this;
    // No deadline is further away: our clock was set back.
    const latestUs = nowUs + rule.waitUs + SLACK_US;
    if (line.oldest && line.oldest.deadlineUs > latestUs) line.capDeadlines(latestUs);
    let isAny = false;
    while (this.expiryUs() < nowUs) {
      const job = line.oldest as Job;
      const waitedUs = nowUs - job.deadlineUs + rule.waitUs;
      line.removeJob(job);
      this.host.expire(job, this.key, (waitedUs + this.known.freeUs(nowUs) - nowUs) / 1_000);
      isAny = true;
    }
    if (isAny) this.giveBackSpare();
  }

  private startDue(nowUs: number): void {
    const { line, timing } = this;
    for (let slot = line.first; slot; slot = line.first) {
      const isVoid = timing.isVoid(slot, nowUs);
      if (!isVoid && timing.startUs(slot) > nowUs) return;
      if (!isVoid && line.length > 0 && !timing.isSeen(slot)) return;
      if (isVoid) line.removeSlot(slot);
      const job = isVoid ? undefined : line.start(slot);
      if (!job) continue;
      timing.use(slot, nowUs, nowUs);
      this.host.start(job, slot);
    }
  }
}
