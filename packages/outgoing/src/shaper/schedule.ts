/**
 * The waiting jobs of a key in this process, and the slots on which they will start. A slot serves one job of its cost.
 *
 * Invariant: if the jobs of one cost took their slots in order of arrival, each would start before its deadline. A new
 * job is accepted only if there is a free slot before its deadline. A job of higher priority overtakes an older job
 * only if the older one can still start before its deadline on the next slot. So no job starves. With `isStrict`, jobs
 * start by rank instead.
 */

import { Heap } from './heap.js';
import { goesBefore, type Job } from './job.js';
import type { Cost } from './paces.js';
import type { Slot } from './slots.js';

interface CostClass {
  readonly cost: Cost;
  readonly byRank: Heap<Job>;
  readonly byAge: AgeList;
  slots: number;
}

type Waiting = Pick<Job, 'priority' | 'order' | 'deadlineUs'>;

/** At each start, at most this many jobs are compared, so starts don't get slower with the number of jobs. */
const MAX_COMPARED = 1_000;

export class Schedule {
  private readonly classes = new Map<string, CostClass>();
  private readonly slots = new SlotList();
  private jobCount = 0;
  private localSlotCount = 0;
  private readonly isStrict: boolean;

  /** @param isStrict whether jobs start by rank, even if others then miss their deadlines */
  constructor(isStrict: boolean) {
    this.isStrict = isStrict;
  }

  get length(): number {
    return this.jobCount;
  }

  get firstSlot(): Slot | undefined {
    return this.slots.first;
  }

  get lastSlot(): Slot | undefined {
    return this.slots.last;
  }

  /** The first slot for which `holds` is false. `holds` must be true up to some slot, and false from there on. */
  firstSlotNot(holds: (slot: Slot) => boolean): Slot | undefined {
    return this.slots.firstNot(holds);
  }

  get oldestJob(): Job | undefined {
    let oldest: Job | undefined;
    for (const { byAge } of this.classes.values()) {
      const { first } = byAge;
      if (first && (!oldest || first.deadlineUs < oldest.deadlineUs)) oldest = first;
    }
    return oldest;
  }

  addJob(job: Job): void {
    const { byRank, byAge } = this.classOf(job.cost);
    byRank.add(job);
    byAge.add(job);
    this.jobCount += 1;
  }

  removeJob(job: Job): boolean {
    const own = this.classes.get(job.cost.id);
    if (!own?.byRank.remove(job)) return false;
    own.byAge.remove(job);
    this.jobCount -= 1;
    this.deleteIfEmpty(own);
    return true;
  }

  removeJobs(): void {
    for (const { byAge } of this.classes.values()) for (const job of byAge) this.removeJob(job);
  }

  addSlot(slot: Slot): void {
    this.slots.add(slot);
    this.classOf(slot.cost).slots += 1;
    if (slot.isLocal) this.localSlotCount += 1;
  }

  removeSlot(slot: Slot): void {
    this.slots.remove(slot);
    if (slot.isLocal) this.localSlotCount -= 1;
    const own = this.classOf(slot.cost);
    own.slots -= 1;
    this.deleteIfEmpty(own);
  }

  dropSlot(slot: Slot): void {
    this.removeSlot(slot);
    slot.permit?.release();
  }

  dropLocalSlots(): void {
    if (this.localSlotCount === 0) return;
    for (const slot of [...this.slots]) if (slot.isLocal) this.dropSlot(slot);
  }

  /** Drops slots that have passed, if no job needs them. A needed slot stays, because its job may be about to start. */
  dropPassedSlots(hasPassed: (slot: Slot) => boolean): void {
    const { first } = this.slots;
    if (!first || !hasPassed(first)) return;
    for (const slot of [...this.spareSlots()]) if (hasPassed(slot)) this.dropSlot(slot);
  }

  /** The costs of jobs without a slot, the highest cost first; at most `max` costs. */
  missingCosts(max: number): readonly Cost[] {
    return this.missing((one, other) => sumOf(other.cost) - sumOf(one.cost), max);
  }

  /**
   * The costs of jobs without a slot, grouped by cost, the cost of the highest-ranked job first; at most `max` costs.
   */
  nextCosts(max: number): readonly Cost[] {
    const rank = (one: CostClass, other: CostClass): number =>
      goesBefore(one.byRank.first as Job, other.byRank.first as Job) ? -1 : 1;
    return this.missing(rank, max);
  }

  private missing(
    compare: (one: CostClass, other: CostClass) => number,
    max: number,
  ): readonly Cost[] {
    const missing = [...this.classes.values()].filter(({ byRank, slots }) => byRank.size > slots);
    missing.sort(compare);
    const costs: Cost[] = [];
    for (const { cost, byRank, slots } of missing) {
      for (let i = slots; i < byRank.size && costs.length < max; i += 1) costs.push(cost);
    }
    return costs;
  }

  hasSpare({ id }: Cost): boolean {
    const own = this.classes.get(id);
    return own !== undefined && own.slots > own.byRank.size;
  }

  spareSlot(cost: Cost): Slot | undefined {
    if (!this.hasSpare(cost)) return undefined;
    for (const slot of this.spareSlots()) if (slot.cost.id === cost.id) return slot;
    return undefined;
  }

  /** Limits all deadlines to `us`, after the clock was set back. */
  capDeadlines(us: number): void {
    for (const { byAge } of this.classes.values()) {
      for (const job of byAge) job.deadlineUs = Math.min(job.deadlineUs, us);
    }
  }

  startJob(slot: Slot): Job | undefined {
    this.removeSlot(slot);
    const own = this.classes.get(slot.cost.id);
    const job = own && this.nextJobOf(own);
    if (job) this.removeJob(job);
    return job;
  }

  /**
   * When a job of this cost would start if it came now and no other job came later.
   *
   * @param ownUs the time of the slot for this job: a spare slot or, if there is none, the slot that the store would
   * grant
   */
  startUs({ id }: Cost, priority: number, ownUs: number): number {
    const waiting: Waiting[] = [...(this.classes.get(id)?.byAge ?? [])];
    const ahead = waiting.filter((job) => job.priority >= priority).length;
    const [oldest] = waiting;
    if (!oldest || ahead === waiting.length) return ownUs;
    const slotsUs = [...this.slots.timesOf(id)];
    if (this.isStrict) return slotsUs[ahead] ?? ownUs;
    if (!slotsUs.includes(ownUs)) slotsUs.push(ownUs);
    slotsUs.sort((one, other) => one - other);
    // As in `nextJobOf`: all jobs behind the new one can move back by one slot.
    const canAllWait = slotsUs.length > waiting.length;
    if (canAllWait && (slotsUs.at(-1) as number) <= oldest.deadlineUs)
      return slotsUs[ahead] as number;
    const newJob: Waiting = { priority, order: Infinity, deadlineUs: Infinity };
    waiting.push(newJob);
    for (const [index, slotUs] of slotsUs.entries()) {
      const job = nextJob(waiting, slotsUs.slice(index + 1).values(), undefined);
      if (job === newJob) return slotUs;
      waiting.splice(waiting.indexOf(job), 1);
    }
    return ownUs;
  }

  /** The units in each of `paces` paces of the jobs without a slot that a new job of this priority cannot overtake. */
  unitsAhead(priority: number, paces: number): readonly number[] {
    const units: number[] = new Array(paces).fill(0);
    for (const { cost, byAge, slots } of this.classes.values()) {
      const ahead = [...byAge].filter((job) => job.priority >= priority).length;
      for (const [at, own] of cost.units.entries()) {
        units[at] = (units[at] as number) + own * Math.max(0, ahead - slots);
      }
    }
    return units;
  }

  private classOf(cost: Cost): CostClass {
    let own = this.classes.get(cost.id);
    if (!own) {
      own = { cost, byRank: new Heap<Job>(goesBefore), byAge: new AgeList(), slots: 0 };
      this.classes.set(cost.id, own);
    }
    return own;
  }

  private deleteIfEmpty({ cost, byRank, slots }: CostClass): void {
    if (byRank.size === 0 && slots === 0) this.classes.delete(cost.id);
  }

  private *spareSlots(): Generator<Slot, void> {
    const seen = new Map<string, number>();
    for (const slot of this.slots) {
      const before = seen.get(slot.cost.id) ?? 0;
      seen.set(slot.cost.id, before + 1);
      if (before >= this.classOf(slot.cost).byRank.size) yield slot;
    }
  }

  private nextJobOf({ cost, byRank, byAge, slots }: CostClass): Job | undefined {
    const { first: best } = byRank;
    const { first: oldest } = byAge;
    if (!best || !oldest) return undefined;
    if (this.isStrict) return best;
    const { last } = this.slots;
    // Every later slot is before every deadline, so all jobs can move back by one slot.
    const canAllWait = slots >= byRank.size - 1 && last && last.at.localUs <= oldest.deadlineUs;
    return canAllWait ? best : nextJob(byAge, this.slots.timesOf(cost.id), best);
  }
}

/**
 * Picks the job for a slot: the highest-ranked job that overtakes only jobs that can wait for the next slot.
 *
 * @param jobs in order of arrival, at least one
 * @param laterSlots the times of the slots after the slot to fill
 * @param best the highest-ranked job, if known; the search ends when it reaches this job
 */
function nextJob<One extends Waiting>(
  jobs: Iterable<One>,
  laterSlots: Iterator<number, unknown>,
  best: One | undefined,
): One {
  let first: One | undefined;
  let compared = 0;
  for (const job of jobs) {
    if (!first || goesBefore(job, first)) first = job;
    if (first === best) break;
    const next = laterSlots.next();
    compared += 1;
    const canWait = next.done !== true && next.value <= job.deadlineUs;
    if (!canWait || compared === MAX_COMPARED) break;
  }
  return first as One;
}

function sumOf({ units }: Cost): number {
  return units.reduce((sum, own) => sum + own, 0);
}

/** Slots in order of time. The first and the last are removed in constant time. */
class SlotList {
  private slots: Slot[] = [];
  private head = 0;

  get first(): Slot | undefined {
    return this.slots[this.head];
  }

  get last(): Slot | undefined {
    return this.slots.at(-1);
  }

  add(slot: Slot): void {
    const { slots, head } = this;
    let index = slots.length;
    while (index > head && slot.at.isBefore((slots[index - 1] as Slot).at)) index -= 1;
    if (index === slots.length) slots.push(slot);
    else slots.splice(index, 0, slot);
  }

  remove(slot: Slot): void {
    const { slots } = this;
    if (slot === this.first) this.head += 1;
    else if (slot === slots.at(-1)) slots.pop();
    else slots.splice(slots.indexOf(slot, this.head), 1);
    // The list is compacted only when half of it is empty. Then each slot is moved once on average.
    if (2 * this.head < slots.length) return;
    this.slots = slots.slice(this.head);
    this.head = 0;
  }

  firstNot(holds: (slot: Slot) => boolean): Slot | undefined {
    const { slots } = this;
    let from = this.head;
    let to = slots.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (holds(slots[middle] as Slot)) from = middle + 1;
      else to = middle;
    }
    return slots[from];
  }

  *[Symbol.iterator](): Generator<Slot, void> {
    const { slots } = this;
    for (let index = this.head; index < slots.length; index += 1) yield slots[index] as Slot;
  }

  *timesOf(id: string): Generator<number, void> {
    for (const slot of this) if (slot.cost.id === id) yield slot.at.localUs;
  }
}

interface AgeNode {
  readonly job: Job;
  previous: AgeNode | undefined;
  next: AgeNode | undefined;
}

/** Jobs in order of arrival: a linked list, from which any job is removed in constant time. */
class AgeList {
  private head: AgeNode | undefined;
  private tail: AgeNode | undefined;
  private readonly nodes = new Map<Job, AgeNode>();

  get first(): Job | undefined {
    return this.head?.job;
  }

  *[Symbol.iterator](): Generator<Job, void> {
    for (let node = this.head; node; node = node.next) yield node.job;
  }

  add(job: Job): void {
    const node: AgeNode = { job, previous: this.tail, next: undefined };
    if (this.tail) this.tail.next = node;
    else this.head = node;
    this.tail = node;
    this.nodes.set(job, node);
  }

  remove(job: Job): void {
    const node = this.nodes.get(job);
    if (!node) return;
    const { previous, next } = node;
    if (previous) previous.next = next;
    else this.head = next;
    if (next) next.previous = previous;
    else this.tail = previous;
    this.nodes.delete(job);
  }
}
