/**
 * A flat, open-addressed table of buckets: 16 bytes a slot and no objects, so that the garbage collector has no work
 * even with a million keys. It grows by moving a few slots per call, and drops entries that equal a full bucket on the
 * way.
 */

import type { BucketState } from './step.js';

/** Slots of a table, all in one buffer: [fingerprint lo, fingerprint hi | instant], with the fractions apart. */
interface Slots {
  readonly mask: number;
  /** Word 4i: low half of slot i's fingerprint, word 4i + 1: high half. Both zero: empty. */
  readonly words: Int32Array;
  /** Cell 2i + 1: slot i's instant in microseconds. */
  readonly cells: Float64Array;
  /** Numerators; only once a rule with fractions of a microsecond has come. */
  nums: Uint32Array | undefined;
  /** Slots taken, by live entries and by those that equal a full bucket. */
  taken: number;
}

const SMALLEST = 1024;
/** Slots moved per call while the table is rebuilt. */
const STRIDE = 8;

function makeSlots(capacity: number): Slots {
  const buffer = new ArrayBuffer(capacity * 16);
  return {
    mask: capacity - 1,
    words: new Int32Array(buffer),
    cells: new Float64Array(buffer),
    nums: undefined,
    taken: 0,
  };
}

/** The slot that holds the fingerprint, or the empty one where it belongs, as -1 - slot. */
function probe(slots: Slots, lo: number, hi: number): number {
  const { words, mask } = slots;
  let slot = lo & mask;
  for (;;) {
    const low = words[4 * slot] as number;
    const high = words[4 * slot + 1] as number;
    if (low === lo && high === hi) return slot;
    if (low === 0 && high === 0) return -1 - slot;
    slot = (slot + 1) & mask;
  }
}

export class BucketTable {
  private slots: Slots = makeSlots(SMALLEST);
  /** The table being emptied into `slots`, if any, and how many of its slots are done. */
  private old: Slots | undefined;
  private moved = 0;
  /** The slot at which the next look for full buckets starts. */
  private hand = 0;
  private entries = 0;
  private epoch = 0;

  /** Entries held: buckets that are not full, and full ones not dropped yet. */
  get size(): number {
    return this.entries;
  }

  /** Bytes held, all outside the heap. */
  get bytes(): number {
    let bytes = 0;
    for (const slots of [this.slots, this.old]) {
      if (slots) bytes += slots.words.byteLength + (slots.nums?.byteLength ?? 0);
    }
    return bytes;
  }

  /** Changes whenever slots are numbered anew. */
  get generation(): number {
    return this.epoch;
  }

  /** The slot of an entry, -1 if there is none. Valid for this generation. */
  find(lo: number, hi: number, nowUs: number): number {
    if (this.old) this.move(STRIDE, nowUs);
    const slot = probe(this.slots, lo, hi);
    if (slot >= 0 || !this.old) return slot >= 0 ? slot : -1;
    const waiting = probe(this.old, lo, hi);
    if (waiting < this.moved) return -1;
    // Moved at once; the rebuild skips it later.
    this.take(-1 - slot, lo, hi, this.old, waiting);
    return -1 - slot;
  }

  /** Adds an entry that {@link find} did not find; `state` is to be stored in it next. */
  add(lo: number, hi: number, nowUs: number): number {
    if (4 * (this.slots.taken + 1) > 3 * (this.slots.mask + 1)) this.rebuild(nowUs);
    const slot = -1 - probe(this.slots, lo, hi);
    this.take(slot, lo, hi);
    this.entries += 1;
    return slot;
  }

  get isWhole(): boolean {
    return this.slots.nums === undefined;
  }

  timeAt(slot: number): number {
    return this.slots.cells[2 * slot + 1] as number;
  }

  setTime(slot: number, us: number): void {
    this.slots.cells[2 * slot + 1] = us;
  }

  load(slot: number, state: BucketState): void {
    const { cells, nums } = this.slots;
    state.tatUs = cells[2 * slot + 1] as number;
    state.tatNum = nums ? (nums[slot] as number) : 0;
  }

  store(slot: number, state: BucketState): void {
    const slots = this.slots;
    slots.cells[2 * slot + 1] = state.tatUs;
    if (state.tatNum > 0) slots.nums ??= new Uint32Array(slots.mask + 1);
    if (slots.nums) slots.nums[slot] = state.tatNum;
  }

  /** Starts dropping full buckets, if a look at a few entries finds any. */
  reclaim(nowUs: number): void {
    if (!this.old && this.look(64, nowUs).full > 0) this.rebuild(nowUs);
  }

  /** Fills an empty slot, with the state of an entry of another table if one is given. */
  private take(slot: number, lo: number, hi: number, from?: Slots, fromSlot = 0): void {
    const slots = this.slots;
    slots.words[4 * slot] = lo;
    slots.words[4 * slot + 1] = hi;
    slots.taken += 1;
    if (!from) return;
    slots.cells[2 * slot + 1] = from.cells[2 * fromSlot + 1] as number;
    if (!from.nums) return;
    slots.nums ??= new Uint32Array(slots.mask + 1);
    slots.nums[slot] = from.nums[fromSlot] as number;
  }

  /**
   * Starts a new table: of twice the size, or of the same size if most entries are full buckets. At most three quarters
   * of the old table are moved, and slots are moved faster than new ones are taken, so the new table cannot fill up
   * meanwhile.
   */
  private rebuild(nowUs: number): void {
    while (this.old) this.move(SMALLEST, nowUs);
    const old = this.slots;
    const capacity = old.mask + 1;
    const { taken, full } = this.look(512, nowUs);
    const live = old.taken * (1 - full / Math.max(1, taken));
    this.slots = makeSlots(live > 0.375 * capacity ? 2 * capacity : capacity);
    this.old = old;
    this.moved = 0;
    this.epoch += 1;
    this.move(SMALLEST, nowUs);
  }

  private move(count: number, nowUs: number): void {
    const old = this.old as Slots;
    const end = Math.min(this.moved + count, old.mask + 1);
    for (let slot = this.moved; slot < end; slot += 1) {
      const lo = old.words[4 * slot] as number;
      const hi = old.words[4 * slot + 1] as number;
      if (lo === 0 && hi === 0) continue;
      const target = probe(this.slots, lo, hi);
      if (target >= 0) continue;
      if ((old.cells[2 * slot + 1] as number) < nowUs) this.entries -= 1;
      else this.take(-1 - target, lo, hi, old, slot);
    }
    this.moved = end;
    if (end > old.mask) this.old = undefined;
  }

  /** Counts entries, and those that equal a full bucket, in the next `count` slots (in all of a small table). */
  private look(count: number, nowUs: number): { taken: number; full: number } {
    const { words, cells, mask } = this.slots;
    let taken = 0;
    let full = 0;
    for (let left = mask < SMALLEST ? SMALLEST : count; left > 0; left -= 1) {
      const slot = this.hand;
      this.hand = (slot + 1) & mask;
      if (words[4 * slot] === 0 && words[4 * slot + 1] === 0) continue;
      taken += 1;
      if ((cells[2 * slot + 1] as number) < nowUs) full += 1;
    }
    return { taken, full };
  }
}
