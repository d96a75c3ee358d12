/**
 * A flat, open-addressed table of counts: a fingerprint, an instant and a few whole numbers a slot, and no objects, so
 * that the garbage collector has no work even with a million keys. It grows by moving a few slots per call, and drops
 * entries whose instant is over on the way.
 */

/**
 * Slots of a table, in one buffer: [fingerprint lo, fingerprint hi | instant], and two numbers behind them if each slot
 * has two: a decision then reads one line of the processor's cache, or two. A single number, which few tables need, is
 * in an array apart.
 */
interface Slots {
  readonly capacity: number;
  /** Words in which a slot begins: the low half of its fingerprint, then the high half. Both zero: empty. */
  readonly words: Int32Array;
  /** The second one of a slot is its instant in microseconds. */
  readonly cells: Float64Array;
  /** If they are apart, they are made with the first one that is not zero. */
  numbers: Uint32Array | undefined;
  /** Slots taken, by live entries and by those that are over. */
  taken: number;
}

/** Whoever keeps something outside of the table for its entries. */
export interface Keeper {
  /** An entry has moved to `slot`. */
  moved(slot: number): void;
  /** An entry that was over is gone; `first` and `second` were its numbers. */
  dropped(first: number, second: number): void;
}

const SMALLEST = 1024;
/** Slots moved per call while the table is rebuilt. */
const STRIDE = 8;
/** How many slots a call looks at, or moves, when there is little room. */
const FEW = 64;

/** 2^k and 3 x 2^k in turn, so that a table that grows with three quarters taken is at least half full. */
function nextCapacity(capacity: number): number {
  return (capacity & (capacity - 1)) === 0 ? 1.5 * capacity : (capacity / 3) * 4;
}

/** The slot that holds the fingerprint, or the empty one where it belongs, as -1 - slot. */
function probe({ words, capacity }: Slots, size: number, lo: number, hi: number): number {
  // In the order of their fingerprints: a rebuild then reads and writes its tables from the front to the end.
  let slot = ((lo >>> 0) * (capacity / 2 ** 32)) | 0;
  for (;;) {
    const low = words[2 * size * slot] as number;
    const high = words[2 * size * slot + 1] as number;
    if (low === lo && high === hi) return slot;
    if (low === 0 && high === 0) return -1 - slot;
    slot += 1;
    if (slot === capacity) slot = 0;
  }
}

export class FlatTable {
  private slots: Slots;
  /** The table being emptied into `slots`, if any, and how many of its slots are done. */
  private old: Slots | undefined;
  private moved = 0;
  /** The slot at which the next look for entries that are over starts. */
  private hand = 0;
  private entries = 0;
  private epoch = 0;
  /** Cells of a slot: three if it has two numbers. */
  private readonly cellsEach: number;
  private readonly keeper: Keeper | undefined;

  /** `width`: numbers of a slot, one or two. */
  constructor(width: 1 | 2, keeper?: Keeper) {
    this.cellsEach = 1 + width;
    this.keeper = keeper;
    this.slots = this.makeSlots(SMALLEST);
  }

  /** Entries held: those that count, and those that are over and not dropped yet. */
  get size(): number {
    return this.entries;
  }

  /** Changes whenever slots are numbered anew. */
  get generation(): number {
    return this.epoch;
  }

  /** The slot of an entry, -1 if there is none. Valid for this generation. */
  find(lo: number, hi: number, nowUs: number): number {
    if (this.old) this.move(STRIDE, nowUs);
    const slot = probe(this.slots, this.cellsEach, lo, hi);
    if (slot >= 0 || !this.old) return slot >= 0 ? slot : -1;
    const waiting = probe(this.old, this.cellsEach, lo, hi);
    if (waiting < this.moved) return -1;
    // Moved at once; the rebuild skips it later.
    this.take(-1 - slot, lo, hi, this.old, waiting);
    return -1 - slot;
  }

  /** Adds an entry that {@link find} did not find; what it keeps is to be stored in it next. */
  add(lo: number, hi: number, nowUs: number): number {
    if (4 * (this.slots.taken + 1) > 3 * this.slots.capacity) this.rebuild(nowUs);
    const slot = -1 - probe(this.slots, this.cellsEach, lo, hi);
    this.take(slot, lo, hi);
    this.entries += 1;
    return slot;
  }

  /** Of a table with one number in each slot: false once one that is not zero was stored. */
  get isBare(): boolean {
    return this.slots.numbers === undefined;
  }

  timeAt(slot: number): number {
    return this.slots.cells[this.cellsEach * slot + 1] as number;
  }

  /** After `us` the entry may be dropped. */
  setTime(slot: number, us: number): void {
    this.slots.cells[this.cellsEach * slot + 1] = us;
  }

  numberAt(slot: number, column: number): number {
    const { numbers } = this.slots;
    return numbers ? (numbers[this.placeOf(slot) + column] as number) : 0;
  }

  /** `value`: 0 to 2^32 - 1. */
  setNumber(slot: number, column: number, value: number): void {
    const { slots } = this;
    if (value > 0) slots.numbers ??= this.makeNumbers();
    if (slots.numbers) slots.numbers[this.placeOf(slot) + column] = value;
  }

  /** Changes the first number of an entry, which is `from` and no other entry's, before or after it has moved. */
  replace(slot: number, from: number, to: number): void {
    const at = this.placeOf(slot);
    const slots = this.slots.numbers?.[at] === from ? this.slots : (this.old as Slots);
    (slots.numbers as Uint32Array)[at] = to;
  }

  /** Goes on with a rebuild, which drops entries that are over, or starts one if a look at a few finds any. */
  reclaim(nowUs: number): void {
    if (this.old) this.move(FEW, nowUs);
    else if (this.look(FEW, nowUs).over > 0) this.rebuild(nowUs);
  }

  private makeSlots(capacity: number): Slots {
    const buffer = new ArrayBuffer(capacity * this.cellsEach * 8);
    return {
      capacity,
      words: new Int32Array(buffer),
      cells: new Float64Array(buffer),
      numbers: this.cellsEach > 2 ? new Uint32Array(buffer) : undefined,
      taken: 0,
    };
  }

  private makeNumbers(): Uint32Array {
    return new Uint32Array(this.slots.capacity);
  }

  private placeOf(slot: number): number {
    return this.cellsEach > 2 ? 6 * slot + 4 : slot;
  }

  /** Fills an empty slot, with what an entry of another table keeps if one is given. */
  private take(slot: number, lo: number, hi: number, from?: Slots, fromSlot = 0): void {
    const { slots, cellsEach } = this;
    slots.words[2 * cellsEach * slot] = lo;
    slots.words[2 * cellsEach * slot + 1] = hi;
    slots.taken += 1;
    if (!from) return;
    slots.cells[cellsEach * slot + 1] = from.cells[cellsEach * fromSlot + 1] as number;
    if (!from.numbers) return;
    slots.numbers ??= this.makeNumbers();
    for (let column = 0; column < cellsEach - 1; column += 1) {
      const number = from.numbers[this.placeOf(fromSlot) + column] as number;
      slots.numbers[this.placeOf(slot) + column] = number;
    }
    this.keeper?.moved(slot);
  }

  /**
   * Starts a new table: of the next size, or of the same size if at most half of it would be taken by entries that
   * count. At most three quarters of the old table are moved, and slots are moved faster than new ones are taken, so
   * the new table cannot fill up meanwhile.
   */
  private rebuild(nowUs: number): void {
    while (this.old) this.move(SMALLEST, nowUs);
    const old = this.slots;
    const { taken, over } = this.look(512, nowUs);
    const live = old.taken * (1 - over / Math.max(1, taken));
    this.slots = this.makeSlots(
      live > 0.5 * old.capacity ? nextCapacity(old.capacity) : old.capacity,
    );
    this.old = old;
    this.moved = 0;
    this.epoch += 1;
    this.move(SMALLEST, nowUs);
  }

  private move(count: number, nowUs: number): void {
    const { cellsEach } = this;
    const old = this.old as Slots;
    const end = Math.min(this.moved + count, old.capacity);
    for (let slot = this.moved; slot < end; slot += 1) {
      const lo = old.words[2 * cellsEach * slot] as number;
      const hi = old.words[2 * cellsEach * slot + 1] as number;
      if (lo === 0 && hi === 0) continue;
      const target = probe(this.slots, cellsEach, lo, hi);
      if (target >= 0) continue;
      if ((old.cells[cellsEach * slot + 1] as number) < nowUs) this.drop(old, slot);
      else this.take(-1 - target, lo, hi, old, slot);
    }
    this.moved = end;
    if (end === old.capacity) this.old = undefined;
  }

  private drop({ numbers }: Slots, slot: number): void {
    this.entries -= 1;
    if (!this.keeper || !numbers) return;
    const at = this.placeOf(slot);
    this.keeper.dropped(numbers[at] as number, numbers[at + 1] as number);
  }

  /** Counts entries, and those that are over, in the next `count` slots (in all of a small table). */
  private look(count: number, nowUs: number): { taken: number; over: number } {
    const { cellsEach } = this;
    const { words, cells, capacity } = this.slots;
    let taken = 0;
    let over = 0;
    for (let left = capacity <= SMALLEST ? SMALLEST : count; left > 0; left -= 1) {
      const slot = this.hand;
      this.hand = slot + 1 === capacity ? 0 : slot + 1;
      const word = 2 * cellsEach * slot;
      if (words[word] === 0 && words[word + 1] === 0) continue;
      taken += 1;
      if ((cells[cellsEach * slot + 1] as number) < nowUs) over += 1;
    }
    return { taken, over };
  }
}
