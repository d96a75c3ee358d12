/**
 * Blocks of 16-bit numbers, in a few lengths, stored without gaps: when a block is freed, the last block of that length
 * moves into the gap. Each block stores its owner, which is notified when the block moves.
 */

const PAGE = 8192;
const OWNER_LENGTH = 2;
/** An address is the number of a block times 32, with the index of its length, from 1, in the lower five bits. */
const LENGTHS = 32;

interface Row {
  readonly length: number;
  readonly bits: number;
  readonly pages: Uint16Array[];
  count: number;
}

const NONE: Uint16Array = /* @__PURE__ */ new Uint16Array(0);

export class Block {
  page: Uint16Array = NONE;
  start = 0;
  room = 0;
}

type Moved = (owner: number, from: number, to: number) => void;

/** Addresses are from 1 to 2^32 - 1; their lower five bits are never all set. */
export class Blocks {
  private readonly rows: Row[] = [];
  private readonly moved: Moved;

  constructor(moved: Moved) {
    this.moved = moved;
    // Room for 4, 6, 9, 13, 18, ... 1,503 numbers: at most about a quarter of a block is unused.
    for (let room = 4; room < 2000; room += 1 + Math.floor(room / 3)) {
      const length = OWNER_LENGTH + room;
      const bits = Math.max(0, 31 - Math.clz32(PAGE / length));
      this.rows.push({ length, bits, pages: [], count: 0 });
    }
  }

  /** Allocates a block with room for `room` numbers (at most 1,503) or a few more. Returns its address. */
  takeBlock(room: number, owner: number): number {
    let kind = 0;
    while ((this.rows[kind] as Row).length < OWNER_LENGTH + room) kind += 1;
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
      const block = this.findBlock(last);
      const { page, start } = block;
      const hole = this.findBlock(address);
      const owner = (page[start - 2] as number) + (page[start - 1] as number) * 2 ** 16;
      // Copies the owner too. For so few numbers a loop is faster than `set` and `subarray`.
      for (let i = -OWNER_LENGTH; i < block.room; i += 1) {
        hole.page[hole.start + i] = page[start + i] as number;
      }
      this.moved(owner, last, address);
    }
    if (row.count <= (pages.length - 2) << bits) pages.pop();
  }

  own(address: number, owner: number): void {
    const { page, start } = this.findBlock(address);
    page[start - 2] = owner;
    page[start - 1] = owner / 2 ** 16;
  }

  findBlock(address: number, block: Block = new Block()): Block {
    const { length, bits, pages } = this.rowOf(address);
    const index = address >>> 5;
    block.page = pages[index >>> bits] as Uint16Array;
    block.start = (index & ((1 << bits) - 1)) * length + OWNER_LENGTH;
    block.room = length - OWNER_LENGTH;
    return block;
  }

  private rowOf(address: number): Row {
    return this.rows[(address & (LENGTHS - 1)) - 1] as Row;
  }
}
