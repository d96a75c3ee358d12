/** One key of a shaper in this process: its jobs get slots, look once more before they start, and start. */

import type { QueueRule } from '../../contract/rule.js';
import type { Job } from './job.js';
import { Line } from './line.js';
import { LocalPace } from './local-pace.js';
import { Moment } from './moment.js';
import type { Heard, Slot, Slots } from './slots.js';

/** What is known of a key from an answer that was asked for so long before a slot, or later, holds for the slot. */
const AHEAD_US = 50_000;

/** After a refusal, or without an answer, an accepted job asks for another slot at the earliest so much later. */
const LEAST_PAUSE_US = 50_000;

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
  private readonly key: string;
  private readonly host: KeyQueueHost;
  private readonly line = new Line();
  private readonly localPace: LocalPace;
  /** How much later than its slot a job may start. */
  private readonly latestUs: number;
  /** Jobs whose slot was asked for, and that are not accepted yet. */
  private readonly applicants = new Set<Job>();
  /** How many of them, aborted ones too, the store has not answered. */
  private asked = 0;
  /** When the newest of the answers was asked. */
  private seenUs = -Infinity;
  private pausedUntil: Moment | undefined;
  private isLooking = false;
  private isRefilling = false;
  /** Not before is another slot asked for. */
  private refillUs = -Infinity;
  private isReturning = false;
  private returning = Promise.resolve();

  constructor(key: string, host: KeyQueueHost) {
    this.key = key;
    this.host = host;
    const { rule } = host;
    this.localPace = new LocalPace(rule);
    this.latestUs = Math.max(AHEAD_US, rule.windowUs / rule.limit);
  }

  /** Jobs that wait. */
  get length(): number {
    return this.line.length + this.applicants.size;
  }

  /** Whether it knows nothing that a new queue would not. */
  isAtRest(nowUs: number): boolean {
    const isBusy = this.asked > 0 || this.isLooking || this.isRefilling || this.isReturning;
    const isEmpty = this.length === 0 && this.line.first === undefined;
    return isEmpty && !isBusy && this.localPace.isOver(nowUs);
  }

  /** When {@link turn} has something to do; Infinity if only an answer can bring it. */
  dueUs(): number {
    const { first, length } = this.line;
    const refillUs = this.isRefilling || this.line.missing() === 0 ? Infinity : this.refillUs;
    if (!first) return refillUs;
    const { localUs } = first.at;
    if (length === 0 || this.isSeen(first)) return Math.min(localUs, refillUs);
    return this.isLooking ? refillUs : Math.min(localUs - AHEAD_US, refillUs);
  }

  /** Accepts a job if there is a slot for it. `refuse` is told what the store has answered if there is none. */
  apply(job: Job, refuse: (heard: Heard) => void): void {
    this.giveUp(this.host.slots.nowUs());
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
      if (!job.isWaiting) void this.returnSpare();
      else if (heard.slot || this.line.hasRoomFor(job.cost)) this.line.addJob(job);
      else refuse(heard);
      this.turn();
    };
    void this.host.slots.take(this.key, job.cost, answered);
  }

  /** A job that waits here was aborted: the next one has its slot. */
  drop(job: Job): void {
    this.applicants.delete(job);
    if (!this.line.removeJob(job)) return;
    void this.returnSpare();
    this.turn();
  }

  /** A slot that jobs here do not need, for work that is done elsewhere. */
  takeSpare(cost: number): Slot | undefined {
    this.giveUp(this.host.slots.nowUs());
    const slot = this.line.spareFor(cost);
    if (slot) this.line.removeSlot(slot);
    return slot;
  }

  /** Work elsewhere has this slot: it will start then. */
  reserved(slot: Slot): void {
    this.localPace.count(slot);
  }

  /** Work elsewhere does not need its slot any more. */
  release(slot: Slot): void {
    this.line.addSlot(slot);
    void this.returnSpare();
    this.turn();
  }

  /** Nothing starts before this instant of our clock, whatever the store will say. */
  pauseUntil(us: number): void {
    const until = new Moment(us, undefined);
    if (this.pausedUntil?.isBefore(until) ?? true) this.pausedUntil = until;
    this.seenUs = this.host.slots.nowUs();
    this.turn();
  }

  /** Learns what an answer tells about the key. */
  note({ askedUs, failure, pausedUntil }: Heard): void {
    // The store is back, and knows nothing of what was granted meanwhile.
    if (!failure) this.line.removeLocalSlots();
    if (askedUs < this.seenUs) return;
    this.seenUs = askedUs;
    this.pausedUntil = pausedUntil ?? (failure ? this.pausedUntil : undefined);
  }

  /** Forgets its jobs, which were refused; done when their slots were given back, as far as they can be. */
  async close(): Promise<void> {
    this.line.removeJobs();
    this.applicants.clear();
    await this.returnSpare();
  }

  /** Does what is due. */
  turn(): void {
    const nowUs = this.host.slots.nowUs();
    this.giveUp(nowUs);
    this.startDue(nowUs);
    this.lookAhead(nowUs);
    if (!this.isRefilling && this.line.missing() > 0 && this.refillUs <= nowUs) void this.refill();
    this.host.changed();
  }

  /** Slots on which nothing may start any more. Their jobs get others. */
  private giveUp(nowUs: number): void {
    const { line } = this;
    while (line.first && this.isVoid(line.first, nowUs)) line.removeSlot(line.first);
    // No store grants what is further away: its clock was set back.
    const { spanUs } = this.host.rule;
    const latestUs = Math.max(nowUs, this.pausedUntil?.localUs ?? 0) + spanUs + SLACK_US;
    while (line.last && line.last.at.localUs > latestUs) line.removeSlot(line.last);
  }

  private isVoid(slot: Slot, nowUs: number): boolean {
    const isMissed = nowUs - slot.at.localUs > this.latestUs;
    return isMissed || this.isPaused(slot) || this.localPace.forbids(slot);
  }

  private isPaused({ at }: Slot): boolean {
    return this.pausedUntil !== undefined && at.isBefore(this.pausedUntil);
  }

  private startDue(nowUs: number): void {
    const { line } = this;
    for (let slot = line.first; slot && slot.at.localUs <= nowUs; slot = line.first) {
      if (line.length > 0 && !this.isSeen(slot)) return;
      line.removeSlot(slot);
      const job = line.jobFor(slot);
      if (!job) continue;
      line.removeJob(job);
      this.localPace.count(slot);
      this.host.start(job);
    }
  }

  /** Whether a pause that began before would be known. */
  private isSeen({ at }: Slot): boolean {
    return at.localUs - this.seenUs <= AHEAD_US;
  }

  private lookAhead(nowUs: number): void {
    const { first, length } = this.line;
    if (!first || length === 0 || this.isLooking || this.isSeen(first)) return;
    if (first.at.localUs - AHEAD_US > nowUs) return;
    this.isLooking = true;
    void this.host.slots.look(this.key, (heard) => {
      this.isLooking = false;
      this.note(heard);
      this.turn();
    });
  }

  /** Takes slots for jobs that were accepted and have none any more, one after another: they are never refused. */
  private async refill(): Promise<void> {
    this.isRefilling = true;
    for (let cost = this.line.missing(); cost > 0; cost = this.line.missing()) {
      const heard = await this.host.slots.take(this.key, cost, (told) => told);
      this.note(heard);
      if (!this.fill(heard)) break;
    }
    this.isRefilling = false;
    this.turn();
  }

  /** False if there is no use in asking again at once. */
  private fill({ slot, waitMs }: Heard): boolean {
    const nowUs = this.host.slots.nowUs();
    if (!slot) {
      // What passes is at most `waitUs` away. Where nobody knows, the store is asked again soon.
      const passesUs = Number.isFinite(waitMs) ? waitMs * 1_000 - this.host.rule.waitUs : 0;
      this.refillUs = nowUs + Math.max(passesUs, LEAST_PAUSE_US);
      return false;
    }
    if (slot.isLocal && this.isPaused(slot)) {
      // The stand-in does not know of a pause that another process began.
      void this.host.slots.giveBack(slot);
      this.refillUs = this.pausedUntil?.localUs ?? nowUs;
      return false;
    }
    this.line.addSlot(slot);
    void this.returnSpare();
    this.turn();
    return true;
  }

  /** Gives back the last slots that no job needs, as long as nobody elsewhere waits behind them. */
  private returnSpare(): Promise<void> {
    if (!this.isReturning) this.returning = this.returnLast();
    return this.returning;
  }

  private async returnLast(): Promise<void> {
    const { line } = this;
    this.isReturning = true;
    for (let slot = line.last; slot && line.isSpare(slot); slot = line.last) {
      line.removeSlot(slot);
      const given = await this.host.slots.giveBack(slot);
      if (given === 'done') continue;
      if (given === 'kept') line.addSlot(slot); // for the next job that comes here
      break;
    }
    this.isReturning = false;
    this.turn();
  }
}
