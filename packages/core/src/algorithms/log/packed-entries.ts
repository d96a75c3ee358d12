/**
 * The entries of one log that has few, packed in a block: six bytes each while all have one unit, else ten. Instants are
 * kept modulo 2^48 us, 9 years, and told apart by the newest one, which is kept whole: the entries of a log are never
 * further apart than its window.
 */

import type { FlatTable } from '../shelves/flat-table.js';
import type { Blocks } from './blocks.js';
import type { LogEntries } from './log-entries.js';

/** The most entries: their block has at most 1,467 numbers, and those of an entry are at most five. */
export const MOST_PACKED = 256;
/** Numbers of an entry: its instant, and with `COUNTED` the sum of all units up to it. */
const SINGLE = 3;
const COUNTED = 5;
const CYCLE = 2 ** 48;

/**
 * A view of one log after the other. The first number of its slot in the table is the address of the block, the second
 * the number of entries, times two, and 1 if the block has sums. A log of one entry has no block: then the first number
 * is 0, and the second its units.
 */
export class PackedEntries implements LogEntries {
  total = 0;
  count = 0;
  lastUs: number = Number.NEGATIVE_INFINITY;
  private readonly table: FlatTable;
  private readonly blocks: Blocks;
  private slot = -1;
  private address = 0;
  private page: Uint16Array = new Uint16Array(0);
  private start = 0;
  private size = SINGLE;
  /** What to add to an instant modulo {@link CYCLE}; less one cycle for those that would be after the newest. */
  private baseUs = 0;

  constructor(table: FlatTable, blocks: Blocks) {
    this.table = table;
    this.blocks = blocks;
  }

  /** Turns to the log in a slot, whose newest entry is at `lastUs`; -1: to an empty log. */
  open(slot: number, lastUs: number): void {
    this.slot = slot;
    const number = slot < 0 ? 0 : this.table.numberAt(slot, 1);
    const address = slot < 0 ? 0 : this.table.numberAt(slot, 0);
    this.address = address;
    if (address === 0) {
      this.count = number > 0 ? 1 : 0;
      this.total = number;
    } else {
      this.turnTo(address);
      this.count = number >>> 1;
      this.size = number % 2 === 0 ? SINGLE : COUNTED;
      this.total = this.sumAt(this.count - 1);
    }
    this.turnUntil(this.count > 0 ? lastUs : Number.NEGATIVE_INFINITY);
  }

  /** Writes what the steps have changed, to `slot` if the log had none. */
  close(slot: number): void {
    const { table, count } = this;
    this.slot = slot;
    if (this.address > 0) this.fit();
    const { address } = this;
    table.setNumber(slot, 0, address);
    const number = 2 * count + (this.size === COUNTED ? 1 : 0);
    table.setNumber(slot, 1, address === 0 ? this.total : number);
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
    if (count > 0) {
      // Each entry has at least one unit.
      const isSingle = this.total === count && units === 1;
      this.reserve(count + 1, isSingle && (this.address === 0 || this.size === SINGLE));
    }
    this.count = count + 1;
    this.total += units;
    this.turnUntil(us);
    if (count > 0) this.writeLast();
  }

  absorb(us: number, units: number): void {
    if (this.address > 0) this.reserve(this.count, false);
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
    const { page } = this;
    const at = this.start + index * this.size;
    const low = (page[at] as number) + (page[at + 1] as number) * 2 ** 16;
    const us = this.baseUs + low + (page[at + 2] as number) * 2 ** 32;
    return us > this.lastUs ? us - CYCLE : us;
  }

  /** Units of the entries up to this one. */
  private sumAt(index: number): number {
    if (this.address === 0) return this.total;
    if (this.size === SINGLE) return index + 1;
    const at = this.start + index * COUNTED + SINGLE;
    return (this.page[at] as number) + (this.page[at + 1] as number) * 2 ** 16;
  }

  private setSum(index: number, units: number): void {
    const at = this.start + index * COUNTED + SINGLE;
    this.page[at] = units;
    this.page[at + 1] = units / 2 ** 16;
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
    if (this.size === SINGLE && this.address > 0) return unit - 1;
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
    const { page, start, size } = this;
    if (this.address > 0) {
      page.copyWithin(
        start + index * size,
        start + (index + count) * size,
        start + this.count * size,
      );
    }
    this.count -= count;
  }

  /** Lowers the sums from an entry on. */
  private lower(from: number, units: number): void {
    this.total -= units;
    if (this.address === 0 || this.size === SINGLE) return;
    for (let index = from; index < this.count; index += 1) {
      this.setSum(index, this.sumAt(index) - units);
    }
  }

  private turnTo(address: number): void {
    this.address = address;
    this.page = this.blocks.pageOf(address);
    this.start = this.blocks.startOf(address);
  }

  private turnUntil(us: number): void {
    this.lastUs = us;
    this.baseUs = Math.floor(us / CYCLE) * CYCLE;
  }

  private writeLast(): void {
    const { page, size } = this;
    const at = this.start + (this.count - 1) * size;
    const us = this.lastUs;
    page[at] = us;
    page[at + 1] = us / 2 ** 16;
    page[at + 2] = us / 2 ** 32;
    if (size === COUNTED) this.setSum(this.count - 1, this.total);
  }

  /** Makes room for `count` entries, with sums unless they are `single`. */
  private reserve(count: number, single: boolean): void {
    const size = single ? SINGLE : COUNTED;
    const { address } = this;
    if (address > 0 && size === this.size && count * size <= this.blocks.roomOf(address)) return;
    this.moveTo(count, size);
  }

  /** Moves the entries to a block for `count` of them. */
  private moveTo(count: number, size: number): void {
    const { address, blocks, table, slot } = this;
    const next = blocks.take(count * size, slot);
    const page = blocks.pageOf(next);
    const start = blocks.startOf(next);
    for (let index = 0; address > 0 && index < this.count; index += 1) {
      const from = this.start + index * this.size;
      const to = start + index * size;
      for (let i = 0; i < SINGLE; i += 1) page[to + i] = this.page[from + i] as number;
      if (size === SINGLE) continue;
      const sum = this.sumAt(index);
      page[to + SINGLE] = sum;
      page[to + SINGLE + 1] = sum / 2 ** 16;
    }
    // Before the old block goes: the new one may move into its place.
    table.setNumber(slot, 0, next);
    if (address > 0) blocks.free(address);
    this.turnTo(table.numberAt(slot, 0));
    this.size = size;
    if (address === 0) this.writeLast();
  }

  /** Gives the block back if it is not needed, or takes a smaller one if this one is nearly empty. */
  private fit(): void {
    const { count, size } = this;
    if (count < 2) this.vacate();
    else if (3 * count * size < this.blocks.roomOf(this.address)) this.moveTo(count, size);
  }

  private vacate(): void {
    if (this.address === 0) return;
    this.table.setNumber(this.slot, 0, 0);
    this.blocks.free(this.address);
    this.address = 0;
  }
}
