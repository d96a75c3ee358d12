/**
 * The entries of one log that has few, packed in a block. An entry has four bytes for its instant, six if the window is
 * longer than 71 minutes. Unless all have one unit, it has two more for the sum of the units up to it, or four.
 *
 * The block is a ring: where its oldest entry is, and roughly when that came, is in the slot of the log. So most takes
 * read nothing from the block, and only write their entry there.
 */

import type { FlatTable } from '../shelves/flat-table.js';
import { Block, type Blocks } from './log-blocks.js';
import type { LogEntries } from './log-entries.js';

/** The most entries: their block has at most 1,503 numbers, and those of an entry are at most five. */
export const MOST_PACKED = 256;

/**
 * What the second number of a slot says about a packed log with a block, in 31 bits: how many numbers a sum has, how
 * many entries there are, where in the ring the oldest is, and its rough instant.
 */
export function describe(sumSize: number, count: number, head: number, rough: number): number {
  return sumSize | (count << 2) | (head << 11) | (rough << 19);
}

export function sumSizeIn(number: number): number {
  return number & 3;
}

export function entriesIn(number: number): number {
  return (number >>> 2) & 511;
}

export function headIn(number: number): number {
  return (number >>> 11) & 255;
}

export function roughIn(number: number): number {
  return number >>> 19;
}

/** How many entries a block with so much room is used for. */
export function ringOf(room: number, entrySize: number): number {
  return Math.min(MOST_PACKED, (room / entrySize) | 0);
}

/** Whether a block has too much room for so many numbers. */
export function isLarge(room: number, numbers: number): boolean {
  return 3 * numbers < room;
}

/** A rough instant has 12 bits. Those of a log are less than half of their range apart. */
const ROUGH_BITS = 12;
const MOST_APART = 2 ** (ROUGH_BITS - 1) - 2;

/**
 * The instants of packed logs, for windows of one length after the other. They are kept modulo 2^32 us or, if the
 * window is longer than that (71 minutes), 2^48 us, and told apart by the newest one, which is kept whole: the entries
 * of a log are less than its window apart.
 */
export class Instants {
  /** How many numbers one has. */
  size = 2;
  private windowUs = 0;
  /** What a rough instant is multiplied by, and cut: the largest power of 1/2 that does. */
  private roughness = 1;

  turnTo(windowUs: number): void {
    if (windowUs === this.windowUs) return;
    this.windowUs = windowUs;
    this.size = windowUs < 2 ** 32 ? 2 : 3;
    this.roughness = 1;
    while (windowUs * this.roughness > MOST_APART) this.roughness /= 2;
  }

  write(page: Uint16Array, at: number, us: number): void {
    page[at] = us;
    page[at + 1] = us / 2 ** 16;
    if (this.size > 2) page[at + 2] = us / 2 ** 32;
  }

  /** The instant that was written at `at`: at most `lastUs`, the newest one of its log. */
  read(page: Uint16Array, at: number, lastUs: number): number {
    const { size } = this;
    const cycleUs = size > 2 ? 2 ** 48 : 2 ** 32;
    let us = Math.floor(lastUs / cycleUs) * cycleUs;
    us += (page[at] as number) + (page[at + 1] as number) * 2 ** 16;
    if (size > 2) us += (page[at + 2] as number) * 2 ** 32;
    return us > lastUs ? us - cycleUs : us;
  }

  /** The rough instant: 0 to 2^12 - 1. */
  rough(us: number): number {
    return (us * this.roughness) & (2 ** ROUGH_BITS - 1);
  }

  /** Whether the instant of which `rough` is kept is later than `us` for sure. They are less than a window apart. */
  isLater(rough: number, us: number): boolean {
    return (rough - this.rough(us)) << (32 - ROUGH_BITS) > 0;
  }
}

/**
 * A view of one log after the other. The first number of its slot in the table is the address of the block, the second
 * has what `describe` tells. A log of one entry has no block: then the first number is 0, and the second its units.
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
  private readonly instants: Instants;
  /** How many numbers a sum has. */
  private sumSize = 0;
  /** For how many entries the block is. */
  private ring = 1;
  /** Where in the ring the oldest entry is. */
  private head = 0;

  constructor(table: FlatTable, blocks: Blocks, instants: Instants) {
    this.table = table;
    this.blocks = blocks;
    this.instants = instants;
  }

  /** Turns to the log in a slot; -1: to one without entries. */
  open(slot: number, lastUs: number, windowUs: number): void {
    this.slot = slot;
    this.shrunk = false;
    this.instants.turnTo(windowUs);
    const address = slot < 0 ? 0 : this.table.numberAt(slot, 0);
    const number = slot < 0 ? 0 : this.table.numberAt(slot, 1);
    this.address = address;
    this.sumSize = 0;
    this.count = number > 0 ? 1 : 0;
    this.total = number;
    this.lastUs = number > 0 ? lastUs : Number.NEGATIVE_INFINITY;
    if (address === 0) return;
    this.sumSize = sumSizeIn(number);
    this.count = entriesIn(number);
    this.head = headIn(number);
    this.turnTo(address);
    this.total = this.sumAt(this.count - 1);
  }

  /** Writes what the steps have changed, to `slot` if the log had none. */
  close(slot: number): void {
    this.slot = slot;
    if (this.shrunk) this.fit();
    const { table, address, sumSize, count, head } = this;
    const rough = this.instants.rough(this.timeAt(0));
    table.setNumber(slot, 0, address);
    table.setNumber(slot, 1, address > 0 ? describe(sumSize, count, head, rough) : this.total);
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
    this.lastUs = us;
    if (count > 0) this.writeLast();
  }

  absorb(us: number, units: number): void {
    if (this.address > 0) this.reserve(this.count, this.total + units);
    this.total += units;
    this.lastUs = us;
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
      if (index === this.count - 1) this.lastUs = this.timeAt(index - 1);
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
    this.lastUs = Number.NEGATIVE_INFINITY;
  }

  private timeAt(index: number): number {
    const { lastUs, block } = this;
    if (this.address === 0) return lastUs;
    return this.instants.read(block.page, this.placeOf(index), lastUs);
  }

  /** Units of the entries up to this one. */
  private sumAt(index: number): number {
    if (this.address === 0) return this.total;
    if (this.sumSize === 0) return index + 1;
    const { page } = this.block;
    const at = this.placeOf(index) + this.instants.size;
    const low = page[at] as number;
    return this.sumSize === 1 ? low : low + (page[at + 1] as number) * 2 ** 16;
  }

  private setSum(index: number, units: number): void {
    const at = this.placeOf(index) + this.instants.size;
    if (this.sumSize > 0) this.block.page[at] = units;
    if (this.sumSize > 1) this.block.page[at + 1] = units / 2 ** 16;
  }

  private placeOf(index: number): number {
    const place = this.head + index;
    const inRing = place < this.ring ? place : place - this.ring;
    return this.block.start + inRing * (this.instants.size + this.sumSize);
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

  /** Takes entries out: the oldest, or one. The sums of those behind are to be lowered next. */
  private remove(index: number, count: number): void {
    this.count -= count;
    this.shrunk = true;
    if (this.address === 0) return;
    if (index === 0) {
      this.head = (this.head + count) % this.ring;
      return;
    }
    const { page } = this.block;
    for (let i = index; i < this.count; i += 1) {
      const from = this.placeOf(i + 1);
      page.copyWithin(this.placeOf(i), from, from + this.instants.size + this.sumSize);
    }
  }

  /** Lowers the sums from an entry on. */
  private lower(from: number, units: number): void {
    this.total -= units;
    if (this.address === 0 || this.sumSize === 0) return;
    for (let index = from; index < this.count; index += 1) {
      this.setSum(index, this.sumAt(index) - units);
    }
  }

  /** To be called when the size of a sum is known. */
  private turnTo(address: number): void {
    this.address = address;
    const { room } = this.blocks.find(address, this.block);
    this.ring = ringOf(room, this.instants.size + this.sumSize);
  }

  private writeLast(): void {
    this.instants.write(this.block.page, this.placeOf(this.count - 1), this.lastUs);
    this.setSum(this.count - 1, this.total);
  }

  /** Makes room for `count` entries of `total` units. */
  private reserve(count: number, total: number): void {
    const { address } = this;
    let sumSize = address > 0 ? this.sumSize : 0;
    if (total !== count) sumSize = Math.max(sumSize, total < 2 ** 16 ? 1 : 2);
    // Each entry has at least one unit. So all have one, and need no sums, if there are as many units.
    if (address > 0 && sumSize === this.sumSize && count <= this.ring) return;
    this.moveTo(count * (this.instants.size + sumSize), sumSize);
  }

  /** Moves the entries to a block with room for so many numbers. */
  private moveTo(room: number, sumSize: number): void {
    const { address, blocks, table, slot } = this;
    const next = blocks.take(room, slot);
    if (address > 0) this.copyTo(blocks.find(next), sumSize);
    // Before the old block goes: the new one may move into its place.
    table.setNumber(slot, 0, next);
    if (address > 0) blocks.free(address);
    this.sumSize = sumSize;
    this.head = 0;
    this.turnTo(table.numberAt(slot, 0));
    if (address === 0) this.writeLast();
  }

  /** Copies the entries into another block, with sums of another size perhaps. */
  private copyTo({ page, start }: Block, sumSize: number): void {
    const { size } = this.instants;
    const from = this.block.page;
    let to = start;
    for (let index = 0; index < this.count; index += 1) {
      const at = this.placeOf(index);
      for (let i = 0; i < size; i += 1) page[to++] = from[at + i] as number;
      if (sumSize === 0) continue;
      const sum = this.sumAt(index);
      page[to++] = sum;
      if (sumSize > 1) page[to++] = sum / 2 ** 16;
    }
  }

  /** Gives the block back if it is not needed, or takes a smaller one if this one is nearly empty. */
  private fit(): void {
    const { count, sumSize } = this;
    if (this.address === 0) return;
    const room = count * (this.instants.size + sumSize);
    if (count < 2) this.vacate();
    else if (isLarge(this.block.room, room)) this.moveTo(room, sumSize);
  }

  private vacate(): void {
    if (this.address === 0) return;
    this.table.setNumber(this.slot, 0, 0);
    this.blocks.free(this.address);
    this.address = 0;
  }
}
