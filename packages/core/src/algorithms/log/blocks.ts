/**
 * Blocks of 16-bit numbers, in a few lengths, without gaps: when a block is given back, the last one of its length moves
 * into its place. So each block has an owner, who is told of the move.
 */

/** A page has 8 kB to 16 kB, or one block if that is larger. */
const PAGE = 8192;
/** The numbers at the start of a block that hold its owner. */
const HEAD = 2;
/** An address is the number of a block, times 32, and the length of the block in the lower five bits. */
const LENGTHS = 32;

/** All blocks of one length. */
interface Row {
  readonly length: number;
  /** A page has 2^bits blocks. */
  readonly bits: number;
  readonly pages: Uint16Array[];
  count: number;
}

/** Told that the block of `owner` is at address `to` now, and no longer at `from`. */
export type Moved = (owner: number, from: number, to: number) => void;

/** Addresses are from 1 to 2^32 - 1; their lower five bits are never all set. */
export class Blocks {
  private readonly rows: Row[] = [];
  private readonly moved: Moved;

  constructor(moved: Moved) {
    this.moved = moved;
    // For 2, 3, 5, 7, 10, 14, ... 489 entries of three numbers: about a quarter of a block is unused at most.
    for (let entries = 2; entries < 500; entries += 1 + Math.floor(entries / 3)) {
      const length = HEAD + 3 * entries;
      const bits = Math.max(0, 31 - Math.clz32(PAGE / length));
      this.rows.push({ length, bits, pages: [], count: 0 });
    }
  }

  /** A block with room for at least `room` numbers, which are at most 1,467. */
  take(room: number, owner: number): number {
    const kind = this.rows.findIndex(({ length }) => length >= HEAD + room);
    const row = this.rows[kind] as Row;
    const { length, bits, pages, count } = row;
    if (count === pages.length << bits) pages.push(new Uint16Array(length << bits));
    row.count += 1;
    const address = count * LENGTHS + kind + 1;
    this.own(address, owner);
    return address;
  }

  free(address: number): void {
    const row = this.rowOf(address);
    const { length, bits, pages } = row;
    row.count -= 1;
    const last = row.count * LENGTHS + (address % LENGTHS);
    if (last !== address) {
      const page = this.pageOf(last);
      const start = this.startOf(last) - HEAD;
      const block = page.subarray(start, start + length);
      this.pageOf(address).set(block, this.startOf(address) - HEAD);
      this.moved((block[0] as number) + (block[1] as number) * 2 ** 16, last, address);
    }
    // One page is kept for the next block.
    if (row.count <= (pages.length - 2) << bits) pages.pop();
  }

  /** Tells a block who owns it now. */
  own(address: number, owner: number): void {
    const page = this.pageOf(address);
    const start = this.startOf(address);
    page[start - 2] = owner;
    page[start - 1] = owner / 2 ** 16;
  }

  /** How many numbers of the owner's a block has room for. */
  roomOf(address: number): number {
    return this.rowOf(address).length - HEAD;
  }

  pageOf(address: number): Uint16Array {
    const { pages, bits } = this.rowOf(address);
    return pages[address >>> (5 + bits)] as Uint16Array;
  }

  /** Where in its page the block's numbers begin. */
  startOf(address: number): number {
    const { length, bits } = this.rowOf(address);
    return ((address >>> 5) & ((1 << bits) - 1)) * length + HEAD;
  }

  private rowOf(address: number): Row {
    return this.rows[(address % LENGTHS) - 1] as Row;
  }
}
