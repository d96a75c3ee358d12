/**
 * Blocks of 16-bit numbers, in a few lengths, without gaps: when a block is given back, the last one of its length
 * moves into its place. So each block has an owner, who is told of the move.
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

const NONE: Uint16Array = /* @__PURE__ */ new Uint16Array(0);

/** Where the numbers of a block's owner are. */
export class Block {
  page: Uint16Array = NONE;
  start = 0;
  /** How many there may be. */
  room = 0;
}

/** Told that the block of `owner` is at address `to` now, and no longer at `from`. */
type Moved = (owner: number, from: number, to: number) => void;

/** Addresses are from 1 to 2^32 - 1; their lower five bits are never all set. */
export class Blocks {
  private readonly rows: Row[] = [];
  private readonly moved: Moved;

  constructor(moved: Moved) {
    this.moved = moved;
    // Room for 4, 6, 9, 13, 18, ... 1,503 numbers: about a quarter of a block is unused at most.
    for (let room = 4; room < 2000; room += 1 + Math.floor(room / 3)) {
      const length = HEAD + room;
      const bits = Math.max(0, 31 - Math.clz32(PAGE / length));
      this.rows.push({ length, bits, pages: [], count: 0 });
    }
  }

  /** A block with room for at least `room` numbers, which are at most 1,503. */
  take(room: number, owner: number): number {
    let kind = 0;
    while ((this.rows[kind] as Row).length < HEAD + room) kind += 1;
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
    const { bits, pages } = row;
    row.count -= 1;
    const last = row.count * LENGTHS + (address % LENGTHS);
    if (last !== address) {
      const block = this.find(last);
      const { page, start } = block;
      const hole = this.find(address);
      const owner = (page[start - 2] as number) + (page[start - 1] as number) * 2 ** 16;
      // With its owner. With a loop: for so few, it is faster than `set` and `subarray`.
      for (let i = -HEAD; i < block.room; i += 1) {
        hole.page[hole.start + i] = page[start + i] as number;
      }
      this.moved(owner, last, address);
    }
    // One page is kept for the next block.
    if (row.count <= (pages.length - 2) << bits) pages.pop();
  }

  /** Tells a block who owns it now. */
  own(address: number, owner: number): void {
    const { page, start } = this.find(address);
    page[start - 2] = owner;
    page[start - 1] = owner / 2 ** 16;
  }

  /** Where a block is now. */
  find(address: number, block: Block = new Block()): Block {
    const { length, bits, pages } = this.rowOf(address);
    const index = address >>> 5;
    block.page = pages[index >>> bits] as Uint16Array;
    block.start = (index & ((1 << bits) - 1)) * length + HEAD;
    block.room = length - HEAD;
    return block;
  }

  private rowOf(address: number): Row {
    return this.rows[(address & (LENGTHS - 1)) - 1] as Row;
  }
}
