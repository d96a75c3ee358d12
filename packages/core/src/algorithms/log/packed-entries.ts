/**
 * The entries of a short log, packed in a block. An entry has four bytes for its instant, or six if the window is
 * longer than 71 minutes. If any entry has more than one unit, each entry also has two or four bytes for the sum of the
 * units up to it.
 *
 * The block is a ring. The slot of the log stores the position of the oldest entry.
 */

import type { FlatTable } from '../shelves/flat-table.js';
import { Block, type Blocks } from './log-blocks.js';
import type { LogEntries } from './log-entries.js';

/** The most entries in a block. An entry takes at most five of the block's 1,503 numbers. */
export const MOST_PACKED = 256;

/** Packs into 19 bits: the size of a sum, the number of entries and the oldest entry's position. */
export function describe(sumSize: number, count: number, head: number): number {
  return sumSize | (count << 2) | (head << 11);
}

export function sumSizeIn(number: number): number {
  return number & 3;
}

export function entriesIn(number: number): number {
  return (number >>> 2) & 511;
}

export function headIn(number: number): number {
  return number >>> 11;
}

export function ringOf(room: number, entrySize: number): number {
  return Math.min(MOST_PACKED, (room / entrySize) | 0);
}

export function isLarge(room: number, numbers: number): boolean {
  return 3 * numbers < room;
}

/**
 * How many 16-bit numbers an instant takes. A block holds instants modulo 2^32 us or, if the window is longer than that
 * (71 minutes), modulo 2^48 us. The slot's time gives the newest instant in full. The others follow from it, because
 * all entries of a log are less than a window apart.
 */
export function instantSizeOf(windowUs: number): number {
  return windowUs < 2 ** 32 ? 2 : 3;
}

export function writeInstant(page: Uint16Array, at: number, us: number, size: number): void {
  page[at] = us;
  page[at + 1] = us / 2 ** 16;
  if (size > 2) page[at + 2] = us / 2 ** 32;
}

export function readInstant(page: Uint16Array, at: number, lastUs: number, size: number): number {
  const cycleUs = size > 2 ? 2 ** 48 : 2 ** 32;
  let us = Math.floor(lastUs / cycleUs) * cycleUs;
  us += (page[at] as number) + (page[at + 1] as number) * 2 ** 16;
  if (size > 2) us += (page[at + 2] as number) * 2 ** 32;
  return us > lastUs ? us - cycleUs : us;
}

/**
 * A view of one log at a time. The table has two numbers for each log. If the log has several entries, these are the
 * address of their block and the result of `describe`. If it has one entry, they are 0 and the units of that entry.
 */
export class PackedEntries implements LogEntries {
  total = 0;
  count = 0;
  lastUs: number = Number.NEGATIVE_INFINITY;
  private readonly table: FlatTable;
  private readonly blocks: Blocks;
  private slot = -1;
  private shrunk = false;
  private address = 0;
  private readonly block = new Block();
  private instantSize = 2;
  /** How many 16-bit numbers a running sum takes: 1 or 2, or 0 without sums. */
  private sumSize = 0;
  private ring = 1;
  private head = 0;

  constructor(table: FlatTable, blocks: Blocks) {
    this.table = table;
    this.blocks = blocks;
  }

  /** Shows the log in a slot, or an empty log for slot -1. */
  loadLog(slot: number, lastUs: number, windowUs: number): void {
    this.slot = slot;
    this.shrunk = false;
    this.instantSize = instantSizeOf(windowUs);
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

  saveLog(slot: number): void {
    this.slot = slot;
    if (this.shrunk) this.fit();
    const { table, address, sumSize, count, head } = this;
    table.setNumber(slot, 0, address);
    table.setNumber(slot, 1, address > 0 ? describe(sumSize, count, head) : this.total);
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
      this.removeEntries(index, 1);
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
    this.removeEntries(0, this.indexOf(units + 1));
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
    return readInstant(block.page, this.placeOf(index), lastUs, this.instantSize);
  }

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
    const place = this.head + index;
    const inRing = place < this.ring ? place : place - this.ring;
    return this.block.start + inRing * (this.instantSize + this.sumSize);
  }

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

  /** With `index` 0, removes the `count` oldest entries, else the one at `index`. The caller then lowers later sums. */
  private removeEntries(index: number, count: number): void {
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
      page.copyWithin(this.placeOf(i), from, from + this.instantSize + this.sumSize);
    }
  }

  private lower(from: number, units: number): void {
    this.total -= units;
    if (this.address === 0 || this.sumSize === 0) return;
    for (let index = from; index < this.count; index += 1) {
      this.setSum(index, this.sumAt(index) - units);
    }
  }

  /** Requires `sumSize` to be set. */
  private turnTo(address: number): void {
    this.address = address;
    const { room } = this.blocks.findBlock(address, this.block);
    this.ring = ringOf(room, this.instantSize + this.sumSize);
  }

  private writeLast(): void {
    writeInstant(this.block.page, this.placeOf(this.count - 1), this.lastUs, this.instantSize);
    this.setSum(this.count - 1, this.total);
  }

  private reserve(count: number, total: number): void {
    const { address } = this;
    let sumSize = address > 0 ? this.sumSize : 0;
    if (total !== count) sumSize = Math.max(sumSize, total < 2 ** 16 ? 1 : 2);
    // Each entry has at least one unit. If there are as many units as entries, all have one and need no sums.
    if (address > 0 && sumSize === this.sumSize && count <= this.ring) return;
    this.moveTo(count * (this.instantSize + sumSize), sumSize);
  }

  private moveTo(room: number, sumSize: number): void {
    const { address, blocks, table, slot } = this;
    const next = blocks.takeBlock(room, slot);
    if (address > 0) this.copyTo(blocks.findBlock(next), sumSize);
    // Set before the old block is freed: the new block may move into the gap, and `moved` then corrects the address.
    table.setNumber(slot, 0, next);
    if (address > 0) blocks.free(address);
    this.sumSize = sumSize;
    this.head = 0;
    this.turnTo(table.numberAt(slot, 0));
    if (address === 0) this.writeLast();
  }

  private copyTo({ page, start }: Block, sumSize: number): void {
    const { instantSize: size } = this;
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

  private fit(): void {
    const { count, sumSize } = this;
    if (this.address === 0) return;
    const room = count * (this.instantSize + sumSize);
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
