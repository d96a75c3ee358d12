/**
 * The jobs of a key that wait in this process, and the slots that they will have: jobs take the earliest of them.
 *
 * Every job was accepted because there was a slot for it before its deadline, and deadlines are in order of arrival. So
 * if the jobs of one cost took the slots of that cost in order of arrival, each would start in time. (A job that takes
 * a spare slot of a higher cost makes it one of its own cost.) A job of higher priority overtakes only where all that
 * it overtakes can move back by one slot: where the slot behind its own is still before its deadline. This keeps the
 * condition true for all jobs that wait, and so nobody starves.
 */

import { AgeList } from './age-list.js';
import { Balance } from './balance.js';
import { goesBefore, type Job } from './job.js';
import { Ranked } from './ranked.js';
import { SlotRow } from './slot-row.js';
import type { Slot } from './slots.js';

/** The jobs of one cost. */
interface Equals {
  readonly byRank: Ranked<Job>;
  readonly byAge: AgeList;
}

/** Who takes a slot, and whether the jobs of its cost could not all do without it. */
interface Turn<One> {
  readonly job: One;
  readonly isNeeded: boolean;
}

/** A start compares at most so many jobs, so that it costs about the same however many wait. */
const MOST_COMPARED = 1_000;

export class Line {
  /** By cost; never empty ones. */
  private readonly jobs = new Map<number, Equals>();
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

  /** The job whose deadline comes first. */
  get oldest(): Job | undefined {
    let oldest: Job | undefined;
    for (const { byAge } of this.jobs.values()) {
      if (!oldest || (byAge.first as Job).deadlineUs < oldest.deadlineUs) oldest = byAge.first;
    }
    return oldest;
  }

  addJob(job: Job): void {
    let equals = this.jobs.get(job.cost);
    if (!equals) {
      equals = { byRank: new Ranked<Job>(goesBefore), byAge: new AgeList() };
      this.jobs.set(job.cost, equals);
    }
    equals.byRank.add(job);
    equals.byAge.add(job);
    this.jobCount += 1;
    this.balance.addJob(job.cost);
    this.level();
  }

  /** False if it is not in the line. */
  removeJob(job: Job): boolean {
    const equals = this.jobs.get(job.cost);
    if (!equals?.byRank.remove(job)) return false;
    equals.byAge.remove(job);
    if (equals.byRank.size === 0) this.jobs.delete(job.cost);
    this.jobCount -= 1;
    this.balance.removeJob(job.cost);
    this.level();
    return true;
  }

  addSlot(slot: Slot): void {
    this.slots.add(slot);
    this.balance.addSlot(slot.cost);
    this.level();
  }

  removeSlot(slot: Slot): void {
    this.takeSlot(slot);
    this.level();
  }

  /** The stand-in's slots are void. */
  removeLocalSlots(): void {
    for (const slot of this.slots.filter(({ isLocal }) => isLocal)) this.removeSlot(slot);
  }

  removeJobs(): void {
    for (const [cost, { byRank }] of this.jobs) {
      for (let job = 0; job < byRank.size; job += 1) this.balance.removeJob(cost);
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
    for (const slot of this.spareSlots()) if (slot.cost >= cost) return slot;
    return undefined;
  }

  /** Whether another job of this cost has a slot here. */
  hasRoomFor(cost: number): boolean {
    return this.balance.isSpare(cost);
  }

  /** Gives up slots that have passed, except for the jobs that are about to start on them. */
  removePassed(hasPassed: (slot: Slot) => boolean): void {
    const { first } = this.slots;
    if (!first || !hasPassed(first)) return;
    for (const slot of [...this.spareSlots()]) if (hasPassed(slot)) this.removeSlot(slot);
  }

  /** No deadline is later than this: the clock was set back. */
  capDeadlines(us: number): void {
    for (const { byAge } of this.jobs.values()) {
      for (const job of byAge) job.deadlineUs = Math.min(job.deadlineUs, us);
    }
  }

  /** Takes away the first slot, and the job that starts on it. */
  start(slot: Slot): Job | undefined {
    this.takeSlot(slot);
    const job = this.jobFor(slot);
    if (job) this.removeJob(job);
    else this.level();
    return job;
  }

  /**
   * When a job of one unit would start that came now, if no other came after it.
   *
   * @param ownUs the slot that it would bring: after those of the line, or a spare one of the line
   */
  startUs(priority: number, ownUs: number): number {
    const equals = this.jobs.get(1);
    const waiting: Waiting[] = equals ? [...equals.byAge] : [];
    if (waiting.every((job) => job.priority >= priority)) return ownUs;
    const newest: Waiting = { priority, order: Infinity, deadlineUs: Infinity };
    waiting.push(newest);
    const slotsUs = [...this.slots.timesOf(1)];
    if (!slotsUs.includes(ownUs)) slotsUs.push(ownUs);
    slotsUs.sort((one, other) => one - other);
    for (const [at, slotUs] of slotsUs.entries()) {
      const { job } = turnOf(waiting, slotsUs.slice(at + 1).values(), undefined);
      if (job === newest) return slotUs;
      waiting.splice(waiting.indexOf(job), 1);
    }
    return ownUs;
  }

  private takeSlot(slot: Slot): void {
    this.slots.remove(slot);
    this.balance.removeSlot(slot.cost);
  }

  /** The slots of each cost behind those that the jobs of that cost will take. */
  private *spareSlots(): Generator<Slot, void> {
    const passed = new Map<number, number>();
    for (const slot of this.slots) {
      const { cost } = slot;
      const before = passed.get(cost) ?? 0;
      passed.set(cost, before + 1);
      if (before >= (this.jobs.get(cost)?.byRank.size ?? 0)) yield slot;
    }
  }

  /** Makes slots of a higher cost, which no job needs, those of jobs that have none. */
  private level(): void {
    for (let cost = this.balance.covered(); cost; cost = this.balance.covered()) {
      const lacking = cost;
      const slot = [...this.spareSlots()].find((one) => one.cost > lacking) as Slot;
      this.takeSlot(slot);
      this.slots.add({ ...slot, cost });
      this.balance.addSlot(cost);
    }
  }

  private jobFor({ cost }: Slot): Job | undefined {
    const own = this.jobs.get(cost);
    const turn = own && this.turnOf(own, cost);
    if (turn?.isNeeded) return turn.job;
    // Jobs that cost less can have it, too, and leave theirs.
    let first = turn?.job;
    for (const [less, { byRank }] of this.jobs) {
      if (less >= cost) continue;
      const job = byRank.first as Job;
      if (!first || goesBefore(job, first)) first = job;
    }
    return first;
  }

  private turnOf({ byRank, byAge }: Equals, cost: number): Turn<Job> {
    const oldest = byAge.first as Job;
    const best = byRank.first as Job;
    const { last } = this.slots;
    const spare = this.balance.countOf(cost);
    // All slots are before all deadlines.
    if (spare >= -1 && last && last.at.localUs <= oldest.deadlineUs) {
      return { job: best, isNeeded: spare < 0 };
    }
    return turnOf(byAge, this.slots.timesOf(cost), this.jobs.size === 1 ? best : undefined);
  }
}

type Waiting = Pick<Job, 'priority' | 'order' | 'deadlineUs'>;

/**
 * Which of the jobs takes a slot, if `behind` are the ones behind it: the first by rank of those that only overtake
 * jobs that can wait for one slot more.
 *
 * @param jobs in order of arrival, at least one
 * @param best where there is nothing more to look for
 */
function turnOf<One extends Waiting>(
  jobs: Iterable<One>,
  behind: Iterator<number, unknown>,
  best: One | undefined,
): Turn<One> {
  let first: One | undefined;
  let compared = 0;
  for (const job of jobs) {
    if (!first || goesBefore(job, first)) first = job;
    if (first === best) break;
    const next = behind.next();
    compared += 1;
    const canWait = next.done !== true && next.value <= job.deadlineUs;
    if (!canWait || compared === MOST_COMPARED) return { job: first, isNeeded: true };
  }
  return { job: first as One, isNeeded: false };
}
