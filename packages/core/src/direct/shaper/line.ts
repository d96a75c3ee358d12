/** The jobs of a key that wait in this process, and the slots that they will have: jobs take the earliest of them. */

import { Balance } from './balance.js';
import type { Job } from './job.js';
import type { Slot } from './slots.js';

export class Line {
  /** By priority, then first come. */
  private readonly jobs: Job[] = [];
  /** The earliest first. */
  private readonly slots: Slot[] = [];
  private readonly balance = new Balance();

  get length(): number {
    return this.jobs.length;
  }

  get first(): Slot | undefined {
    return this.slots[0];
  }

  get last(): Slot | undefined {
    return this.slots.at(-1);
  }

  addJob(job: Job): void {
    const at = this.jobs.findLastIndex((other) => !goesBefore(job, other));
    this.jobs.splice(at + 1, 0, job);
    this.balance.addJob(job.cost);
  }

  /** False if it is not in the line. */
  removeJob(job: Job): boolean {
    const at = this.jobs.indexOf(job);
    if (at < 0) return false;
    this.jobs.splice(at, 1);
    this.balance.removeJob(job.cost);
    return true;
  }

  addSlot(slot: Slot): void {
    const at = this.slots.findLastIndex((other) => !slot.at.isBefore(other.at));
    this.slots.splice(at + 1, 0, slot);
    this.balance.addSlot(slot.cost);
  }

  removeSlot(slot: Slot): void {
    this.slots.splice(this.slots.indexOf(slot), 1);
    this.balance.removeSlot(slot.cost);
  }

  /** The stand-in's slots are void. */
  removeLocalSlots(): void {
    for (const slot of this.slots.filter(({ isLocal }) => isLocal)) this.removeSlot(slot);
  }

  removeJobs(): void {
    for (const { cost } of this.jobs.splice(0)) this.balance.removeJob(cost);
  }

  /** The cost of a slot that the jobs lack; 0 if they lack none. */
  missing(): number {
    return this.balance.missing();
  }

  /** Whether the jobs can do without a slot. */
  isSpare({ cost }: Slot): boolean {
    return this.balance.isSpare(cost);
  }

  /** The last slot that no job needs and that work of this cost can have. */
  spareFor(cost: number): Slot | undefined {
    return this.slots.findLast((slot) => slot.cost >= cost && this.isSpare(slot));
  }

  /** Whether another job of this cost has a slot here. */
  hasRoomFor(cost: number): boolean {
    return this.balance.isSpare(cost);
  }

  /** The job that starts on a slot that was removed: the first that fits and leaves the others what they need. */
  jobFor(slot: Slot): Job | undefined {
    const fits = ({ cost }: Job) => cost <= slot.cost;
    return (
      this.jobs.find((job) => fits(job) && this.balance.bearsStartOf(job.cost)) ??
      this.jobs.find(fits)
    );
  }
}

function goesBefore(job: Job, other: Job): boolean {
  return (
    job.priority > other.priority || (job.priority === other.priority && job.order < other.order)
  );
}
