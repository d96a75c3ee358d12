/** One key of a shaper in this process: its jobs get slots, look once more before they start, and start. */

import { AHEAD_US } from '../../contract/look-ahead.js';
import type { QueueRule } from '../../contract/rule.js';
import { periodUsOf } from './hearing.js';
import type { Job } from './job.js';
import { Known } from './known.js';
import { Line } from './line.js';
import { LocalPace } from './local-pace.js';
import { OwnPause } from './own-pause.js';
import { Refill } from './refill.js';
import type { Heard, Slot, Slots } from './slots.js';
import { SpareSlots } from './spare-slots.js';

/** By so much a slot may seem too far away, because the clock of a store is known by its answers only. */
const SLACK_US = 1_000_000;

/** What the keys of a shaper have in common. */
export interface KeyQueueHost {
  readonly rule: QueueRule;
  readonly slots: Slots;
  /** Runs a job whose time has come. */
  start(job: Job): void;
  /** Something has changed: perhaps the alarm must be set to another time. */
  changed(): void;
}

export class KeyQueue {
  readonly key: string;
  readonly rule: QueueRule;
  readonly slots: Slots;
  readonly line: Line = new Line();
  readonly known: Known;
  /** Work that starts elsewhere must be counted there, too. */
  readonly localPace: LocalPace;
  private readonly host: KeyQueueHost;
  private readonly ownPause: OwnPause;
  /** Jobs whose slot was asked for, and that are not accepted yet. */
  private readonly applicants = new Set<Job>();
  /** How many of them, aborted ones too, the store has not answered. */
  private asked = 0;
  private readonly spare: SpareSlots;
  private isLooking = false;
  private readonly refill: Refill;

  constructor(key: string, host: KeyQueueHost) {
    this.key = key;
    this.host = host;
    const { rule, slots } = host;
    this.rule = rule;
    this.slots = slots;
    this.known = new Known(slots.ahead);
    this.spare = new SpareSlots(this.line, slots, () => this.turn());
    this.refill = new Refill(this);
    this.localPace = new LocalPace(rule.burst);
    this.ownPause = new OwnPause(key, slots);
  }

  /** Jobs that wait. */
  get length(): number {
    return this.line.length + this.applicants.size;
  }

  /** Whether it knows nothing that a new queue would not. */
  isAtRest(nowUs: number): boolean {
    const isBusy = this.asked > 0 || this.isLooking || this.refill.isBusy || this.spare.isBusy;
    const isEmpty = this.length === 0 && this.line.first === undefined;
    return isEmpty && !isBusy && this.localPace.isOver(nowUs) && this.ownPause.isOver(nowUs);
  }

  /** When {@link turn} has something to do; Infinity if only an answer can bring it. */
  dueUs(): number {
    return Math.min(this.slotDueUs(), this.refill.dueUs(), this.ownPause.dueUs);
  }

  private slotDueUs(): number {
    const { first, length } = this.line;
    if (!first) return Infinity;
    const { localUs } = first.at;
    if (length === 0 || this.known.isSeen(first)) return localUs;
    return this.isLooking ? Infinity : this.known.lookUs(first);
  }

  /** Accepts a job if there is a slot for it. `refuse` is told what the store has answered if there is none. */
  apply(job: Job, refuse: (heard: Heard) => void): void {
    this.giveUp(this.slots.nowUs());
    if (this.line.hasRoomFor(job.cost)) {
      this.line.addJob(job);
      this.turn();
      return;
    }
    this.applicants.add(job);
    this.asked += 1;
    const answered = (heard: Heard) => {
      this.applicants.delete(job);
      this.asked -= 1;
      this.note(heard);
      if (heard.slot) this.line.addSlot(heard.slot);
      if (!job.isWaiting) void this.spare.giveBack();
      else if (heard.slot || this.line.hasRoomFor(job.cost)) this.line.addJob(job);
      else refuse(heard);
      this.turn();
    };
    void this.slots.take(this.key, job.cost, answered);
  }

  /** A job that waits here was aborted: the next one has its slot. */
  drop(job: Job): void {
    this.applicants.delete(job);
    if (!this.line.removeJob(job)) return;
    void this.spare.giveBack();
    this.turn();
  }

  /** A slot that jobs here do not need, for work that is done elsewhere. */
  takeSpare(cost: number): Slot | undefined {
    this.giveUp(this.slots.nowUs());
    const slot = this.line.spareFor(cost);
    if (slot) this.line.removeSlot(slot);
    return slot;
  }

  /** A slot that nobody elsewhere needs: jobs here may. */
  release(slot: Slot): void {
    this.line.addSlot(slot);
    void this.spare.giveBack();
    this.turn();
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
    this.applicants.clear();
    const pause = this.ownPause.tellAgain();
    this.ownPause.end();
    await Promise.all([pause, this.spare.giveBack()]);
  }

  /** Does what is due. */
  turn(): void {
    const nowUs = this.slots.nowUs();
    this.giveUp(nowUs);
    this.startDue(nowUs);
    this.lookAhead(nowUs);
    if (this.refill.dueUs() <= nowUs) void this.refill.begin();
    if (this.ownPause.dueUs <= nowUs) void this.tellAgain();
    this.host.changed();
  }

  private async tellAgain(): Promise<void> {
    const heard = await this.ownPause.tellAgain();
    if (heard) this.hear(heard);
  }

  private note(heard: Heard): void {
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
    while (line.first && this.isVoid(line.first, nowUs)) line.removeSlot(line.first);
    // No store grants what is further away: its clock was set back.
    const latestUs = nowUs + this.rule.waitUs + SLACK_US;
    while (line.last && line.last.at.localUs > latestUs) line.removeSlot(line.last);
  }

  private isVoid(slot: Slot, nowUs: number): boolean {
    const lateUs = nowUs - slot.at.localUs;
    const isMissed = lateUs > AHEAD_US && lateUs > periodUsOf(slot);
    return isMissed || this.known.isPaused(slot) || this.localPace.forbids(slot);
  }

  private startDue(nowUs: number): void {
    const { line } = this;
    for (let slot = line.first; slot && slot.at.localUs <= nowUs; slot = line.first) {
      if (line.length > 0 && !this.known.isSeen(slot)) return;
      line.removeSlot(slot);
      const job = line.jobFor(slot);
      if (!job) continue;
      line.removeJob(job);
      this.localPace.count(slot);
      this.host.start(job);
    }
  }

  private lookAhead(nowUs: number): void {
    const { first, length } = this.line;
    if (!first || length === 0 || this.isLooking || this.known.isSeen(first)) return;
    if (this.known.lookUs(first) > nowUs) return;
    this.isLooking = true;
    void this.slots.look(this.key, (heard) => {
      this.isLooking = false;
      this.hear(heard);
    });
  }
}
