/** The jobs of a key that wait in this process, and the slots that they will have: jobs take the earliest of them. */

import { Balance } from './balance.js';
import { goesBefore, type Job } from './job.js';
import { Ranked } from './ranked.js';
import { SlotRow } from './slot-row.js';
import type { Slot } from './slots.js';

export class Line {
  /** By cost; never empty ones. */
  private readonly jobs = new Map<number, Ranked<Job>>();
  private readonly slots = new SlotRow();
  private readonly balance = new Balance();
  private jobCount = 0;

  /** How many jobs wait. */
  get length(): number {
    return this.jobCount;
  }

  get first(): Slot | undefined {
    return this.slots.first;
  }

  get last(): Slot | undefined {
    return this.slots.last;
  }

  /** The first slot behind those of which something holds: of all up to one of them. */
  firstBehind(holds: (slot: Slot) => boolean): Slot | undefined {
    return this.slots.firstBehind(holds);
  }

  addJob(job: Job): void {
    let equals = this.jobs.get(job.cost);
    if (!equals) {
      equals = new Ranked(goesBefore);
      this.jobs.set(job.cost, equals);
    }
    equals.add(job);
    this.jobCount += 1;
    this.balance.addJob(job.cost);
  }

  /** False if it is not in the line. */
  removeJob(job: Job): boolean {
    const equals = this.jobs.get(job.cost);
    if (!equals?.remove(job)) return false;
    if (equals.size === 0) this.jobs.delete(job.cost);
    this.jobCount -= 1;
    this.balance.removeJob(job.cost);
    return true;
  }

  addSlot(slot: Slot): void {
    this.slots.add(slot);
    this.balance.addSlot(slot.cost);
  }

  removeSlot(slot: Slot): void {
    this.slots.remove(slot);
    this.balance.removeSlot(slot.cost);
  }

  /** The stand-in's slots are void. */
  removeLocalSlots(): void {
    for (const slot of this.slots.filter(({ isLocal }) => isLocal)) this.removeSlot(slot);
  }

  removeJobs(): void {
    for (const [cost, { size }] of this.jobs) {
      for (let job = 0; job < size; job += 1) this.balance.removeJob(cost);
    }
    this.jobs.clear();
    this.jobCount = 0;
  }

  /** The costs of slots that the jobs lack, the highest first; at most so many of them. */
  missing(most: number): readonly number[] {
    return this.balance.missing(most);
  }

  /** Whether the jobs can do without a slot. */
  isSpare({ cost }: Slot): boolean {
    return this.balance.isSpare(cost);
  }

  /** A slot that no job needs and that work of this cost can have: the first behind those that jobs will take. */
  spareFor(cost: number): Slot | undefined {
    if (!this.hasRoomFor(cost)) return undefined;
    const fits = (slot: Slot) => slot.cost >= cost && this.isSpare(slot);
    return this.slots.find(fits, this.jobCount) ?? this.slots.findLast(fits);
  }

  /** Whether another job of this cost has a slot here. */
  hasRoomFor(cost: number): boolean {
    return this.balance.isSpare(cost);
  }

  /** The job that starts on a slot that was removed: the first that fits and leaves the others what they need. */
  jobFor({ cost }: Slot): Job | undefined {
    // Without the slot one is missing. The others have what they need if a job starts that costs as much, or more.
    const [least = 0, more] = this.balance.missing(2);
    const first = more === undefined ? this.firstOf(least, cost) : undefined;
    return first ?? this.firstOf(0, cost);
  }

  private firstOf(least: number, most: number): Job | undefined {
    let first: Job | undefined;
    for (const [cost, { first: job }] of this.jobs) {
      if (!job || cost < least || cost > most) continue;
      if (!first || goesBefore(job, first)) first = job;
    }
    return first;
  }
}
