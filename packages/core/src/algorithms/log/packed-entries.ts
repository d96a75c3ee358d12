/**
 * The entries of one log that has few, packed in a block. An entry has four bytes for its instant, six if the window is
 * longer than 71 minutes. Unless all have one unit, it has two more for the sum of the units up to it, or four.
 *
 * Instants are kept modulo 2^32 us or 2^48 us, and told apart by the newest one, which is kept whole: the entries of a
 * log are less than its window apart.
 */

import type { FlatTable } from '../shelves/flat-table.js';
import { Block, type Blocks, copyNumbers } from './blocks.js';
import type { LogEntries } from './log-entries.js';

/** The most entries: their block has at most 1,503 numbers, and those of an entry are at most five. */
export const MOST_PACKED = 256;

/**
 * A view of one log after the other. The first number of its slot in the table is the address of the block, the second
 * the number of entries, times four, and how many numbers a sum has. A log of one entry has no block: then the first
 * number is 0, and the second its units.
 */
export class PackedEntries implements LogEntries {
  total = 0;
  count = 0;
  lastUs: number = Number.NEGATIVE_INFINITY;
  private readonly table: FlatTable;
  private readonly blocks: Blocks;
  private slot = -1;
  /** Whether entries have gone since it was opened. */
  private shrunk = false;
  private address = 0;
  private readonly block = new Block();
  /** How many numbers an instant has, and a sum. */
  private instantSize = 2;
  private sumSize = 0;
  /** What instants are kept modulo of. */
  private cycleUs = 0;
  /** What to add to an instant, and one cycle less if that is after the newest. */
  private baseUs = 0;

  constructor(table: FlatTable, blocks: Blocks) {
    this.table = table;
    this.blocks = blocks;
  }

  /** Turns to the log in a slot; -1: to one without entries. */
  open(slot: number, lastUs: number, windowUs: number): void {
    this.slot = slot;
    this.shrunk = false;
    this.instantSize = windowUs < 2 ** 32 ? 2 : 3;
    this.cycleUs = windowUs < 2 ** 32 ? 2 ** 32 : 2 ** 48;
    const address = slot < 0 ? 0 : this.table.numberAt(slot, 0);
    const number = slot < 0 ? 0 : this.table.numberAt(slot, 1);
    this.address = address;
    this.sumSize = 0;
    this.count = number > 0 ? 1 : 0;
    this.total = number;
    if (address > 0) {
      this.turnTo(address);
      this.count = number >>> 2;
      this.sumSize = number & 3;
      this.total = this.sumAt(this.count - 1);
    }
    this.turnUntil(this.count > 0 ? lastUs : Number.NEGATIVE_INFINITY);
  }

  /** Writes what the steps have changed, to `slot` if the log had none. */
  close(slot: number): void {
    const { table } = this;
    this.slot = slot;
    if (this.shrunk) this.fit();
    const { address } = this;
    table.setNumber(slot, 0, address);
    table.setNumber(slot, 1, address > 0 ? 4 * this.count + this.sumSize : this.total);
  }

  /**
   * What `stepLog` and {@link close} do with a take of one unit, where nothing else changes: no entry has expired, all
   * have one unit, the new one is later, and their block has room for it. Returns whether it did.
   */
  addOne(us: number, sinceUs: number, limit: number): boolean {
    const { count, block, instantSize } = this;
    const isPlain =
      this.address > 0 && this.sumSize === 0 && (count + 1) * instantSize <= block.room;
    if (!isPlain || us <= this.lastUs || count >= limit || this.timeAt(0) <= sinceUs) return false;
    this.count = count + 1;
    this.total = count + 1;
    this.turnUntil(us);
    this.writeLast();
    this.table.setNumber(this.slot, 1, 4 * this.count);
    return true;
  }

  unitsUntil(us: number): number {
    const index = this.indexAfter(us);
    return index === 0 ? 0 : this.sumAt(index - 1);
  }

  instantOf(unit: number): number {
    return this.timeAt(this.indexOf(unit));
  }

  add(us: number, units: number): void {
    const { count } = this;
    if (us <= this.lastUs) {
      this.absorb(this.lastUs, units);
      return;
    }
    if (count > 0) this.reserve(count + 1, this.total + units);
    this.count = count + 1;
    this.total += units;
    this.turnUntil(us);
    if (count > 0) this.writeLast();
  }

  absorb(us: number, units: number): void {
    if (this.address > 0) this.reserve(this.count, this.total + units);
    this.total += units;
    this.turnUntil(us);
    if (this.address > 0) this.writeLast();
  }

  takeBack(us: number, units: number): number {
    const index = this.indexAfter(us) - 1;
    if (index < 0 || this.timeAt(index) !== us) return 0;
    const held = this.sumAt(index) - (index === 0 ? 0 : this.sumAt(index - 1));
    const taken = Math.min(units, held);
    if (taken === this.total) {
      this.clear();
      return taken;
    }
    if (taken === held) {
      if (index === this.count - 1) this.turnUntil(this.timeAt(index - 1));
      this.remove(index, 1);
    }
    this.lower(index, taken);
    return taken;
  }

  drop(units: number): void {
    if (units === 0) return;
    if (units >= this.total) {
      this.clear();
      return;
    }
    this.remove(0, this.indexOf(units + 1));
    this.lower(0, units);
  }

  clear(): void {
    this.vacate();
    this.count = 0;
    this.total = 0;
    this.turnUntil(Number.NEGATIVE_INFINITY);
  }

  private timeAt(index: number): number {
    if (this.address === 0) return this.lastUs;
    const { page } = this.block;
    const at = this.placeOf(index);
    let us = this.baseUs + (page[at] as number) + (page[at + 1] as number) * 2 ** 16;
    if (this.instantSize > 2) us += (page[at + 2] as number) * 2 ** 32;
    return us > this.lastUs ? us - this.cycleUs : us;
  }

  /** Units of the entries up to this one. */
  private sumAt(index: number): number {
    if (this.address === 0) return this.total;
    if (this.sumSize === 0) return index + 1;
    const { page } = this.block;
    const at = this.placeOf(index) + this.instantSize;
    const low = page[at] as number;
    return this.sumSize === 1 ? low : low + (page[at + 1] as number) * 2 ** 16;
  }

  private setSum(index: number, units: number): void {
    const at = this.placeOf(index) + this.instantSize;
    if (this.sumSize > 0) this.block.page[at] = units;
    if (this.sumSize > 1) this.block.page[at + 1] = units / 2 ** 16;
  }

  private placeOf(index: number): number {
    return this.block.start + index * (this.instantSize + this.sumSize);
  }

  /** The index of the first entry later than `us`. */
  private indexAfter(us: number): number {
    if (us >= this.lastUs) return this.count;
    if (this.timeAt(0) > us) return 0;
    let low = 1;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.timeAt(middle) <= us) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The index of the entry that holds the `unit`-th unit. */
  private indexOf(unit: number): number {
    if (this.sumSize === 0 && this.address > 0) return unit - 1;
    let low = 0;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.sumAt(middle) < unit) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Takes entries out; the sums of those behind are to be lowered next. */
  private remove(index: number, count: number): void {
    if (this.address > 0) {
      const end = this.placeOf(this.count);
      this.block.page.copyWithin(this.placeOf(index), this.placeOf(index + count), end);
    }
    this.count -= count;
    this.shrunk = true;
  }

  /** Lowers the sums from an entry on. */
  private lower(from: number, units: number): void {
    this.total -= units;
    if (this.address === 0 || this.sumSize === 0) return;
    for (let index = from; index < this.count; index += 1) {
      this.setSum(index, this.sumAt(index) - units);
    }
  }

  private turnTo(address: number): void {
    this.address = address;
    this.blocks.find(address, this.block);
  }

  private turnUntil(us: number): void {
    this.lastUs = us;
    this.baseUs = Math.floor(us / this.cycleUs) * this.cycleUs;
  }

  private writeLast(): void {
    const { lastUs } = this;
    const { page } = this.block;
    const at = this.placeOf(this.count - 1);
    page[at] = lastUs;
    page[at + 1] = lastUs / 2 ** 16;
    if (this.instantSize > 2) page[at + 2] = lastUs / 2 ** 32;
    this.setSum(this.count - 1, this.total);
  }

  /** Makes room for `count` entries of `total` units. */
  private reserve(count: number, total: number): void {
    const { address } = this;
    let sumSize = address > 0 ? this.sumSize : 0;
    if (total !== count) sumSize = Math.max(sumSize, total < 2 ** 16 ? 1 : 2);
    // Each entry has at least one unit. So all have one, and need no sums, if there are as many units.
    const room = count * (this.instantSize + sumSize);
    if (address > 0 && sumSize === this.sumSize && room <= this.block.room) return;
    this.moveTo(room, sumSize);
  }

  /** Moves the entries to a block with room for so many numbers. */
  private moveTo(room: number, sumSize: number): void {
    const { address, blocks, block, table, slot } = this;
    const next = blocks.take(room, slot);
    const into = blocks.find(next);
    if (address > 0) {
      if (sumSize !== this.sumSize) this.rewrite(into, sumSize);
      else copyNumbers(block, into, this.placeOf(this.count) - block.start);
    }
    // Before the old block goes: the new one may move into its place.
    table.setNumber(slot, 0, next);
    if (address > 0) blocks.free(address);
    this.turnTo(table.numberAt(slot, 0));
    this.sumSize = sumSize;
    if (address === 0) this.writeLast();
  }

  /** Writes the entries into another block, with sums of another size. */
  private rewrite({ page, start }: Block, sumSize: number): void {
    let to = start;
    for (let index = 0; index < this.count; index += 1) {
      const from = this.placeOf(index);
      const sum = this.sumAt(index);
      for (let i = 0; i < this.instantSize; i += 1)
        page[to++] = this.block.page[from + i] as number;
      page[to++] = sum;
      if (sumSize > 1) page[to++] = sum / 2 ** 16;
    }
  }

  /** Gives the block back if it is not needed, or takes a smaller one if this one is nearly empty. */
  private fit(): void {
    const { count, sumSize } = this;
    const room = count * (this.instantSize + sumSize);
    if (this.address === 0) return;
    if (count < 2) this.vacate();
    else if (3 * room < this.block.room) this.moveTo(room, sumSize);
  }

  private vacate(): void {
    if (this.address === 0) return;
    this.table.setNumber(this.slot, 0, 0);
    this.blocks.free(this.address);
    this.address = 0;
  }
}
