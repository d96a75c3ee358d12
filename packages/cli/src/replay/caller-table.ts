import { Names } from './names.js';

const REQUESTS = 0;
/** The first of two columns that count rejected requests, one for each {@link Timing}. */
const REJECTED = 1;
/**
 * The first of six columns: a pair for seconds, a pair for minutes, and a pair for hours. The first column of a pair
 * counts the requests in the caller's latest interval, the second has the most in any interval.
 */
const PEAKS = 3;
const COLUMNS = 9;
const SPANS_SECONDS = [1, 60, 3_600] as const;
/** Rows are stored in blocks, because a single array would need twice the memory each time it is copied to grow. */
const BLOCK_ROWS = 16_384;

/** Callers beyond this number share one row, so that an attack cannot fill the memory. */
export const MAX_CALLERS = 1_000_000;
const OTHERS = '(other callers)';

/**
 * When requests are decided if their stamp is a whole second: 0 at the start of the second, 1 spread evenly over it.
 */
export type Timing = 0 | 1;

export interface CallerPeaks {
  readonly second: number;
  readonly minute: number;
  readonly hour: number;
}

interface Block {
  /** The times of the callers' latest requests, in seconds since the epoch. */
  readonly latest: Uint32Array;
  /** The columns of each caller, in 16 bits until the first number needs more. */
  numbers: Uint16Array | Uint32Array;
}

export class CallerTable {
  private readonly names = new Names();
  private readonly blocks: Block[] = [];

  get size(): number {
    return this.names.size;
  }

  count(caller: string, timeUs: number): number {
    const id = this.idOf(caller);
    const { latest } = this.blockOf(id);
    const before = latest[id % BLOCK_ROWS] as number;
    const now = Math.floor(timeUs / 1_000_000);
    latest[id % BLOCK_ROWS] = now;
    this.increase(id, REQUESTS);
    for (let span = 0; span < 3; span += 1) {
      const seconds = SPANS_SECONDS[span] as number;
      const column = PEAKS + span * 2;
      const isSame = Math.floor(before / seconds) === Math.floor(now / seconds);
      const inSpan = isSame ? this.numberOf(id, column) + 1 : 1;
      this.setNumber(id, column, inSpan);
      if (inSpan > this.numberOf(id, column + 1)) this.setNumber(id, column + 1, inSpan);
    }
    return id;
  }

  reject(id: number, timing: Timing): void {
    this.increase(id, REJECTED + timing);
  }

  nameOf(id: number): string {
    return this.names.nameOf(id);
  }

  requestsOf(id: number): number {
    return this.numberOf(id, REQUESTS);
  }

  rejectedOf(id: number, timing: Timing): number {
    return this.numberOf(id, REJECTED + timing);
  }

  peaksOf(id: number): CallerPeaks {
    const most = (span: number): number => this.numberOf(id, PEAKS + span * 2 + 1);
    return { second: most(0), minute: most(1), hour: most(2) };
  }

  idOf(caller: string): number {
    const known = this.names.find(caller);
    if (known >= 0) return known;
    if (this.size >= MAX_CALLERS && caller !== OTHERS) return this.idOf(OTHERS);
    const id = this.names.add();
    if (id % BLOCK_ROWS === 0) {
      const numbers = new Uint16Array(BLOCK_ROWS * COLUMNS);
      this.blocks.push({ latest: new Uint32Array(BLOCK_ROWS), numbers });
    }
    return id;
  }

  private increase(id: number, column: number): void {
    this.setNumber(id, column, this.numberOf(id, column) + 1);
  }

  private setNumber(id: number, column: number, value: number): void {
    const block = this.blockOf(id);
    if (value === 0x1_0000 && block.numbers instanceof Uint16Array) {
      block.numbers = Uint32Array.from(block.numbers);
    }
    block.numbers[rowOf(id) + column] = value;
  }

  private numberOf(id: number, column: number): number {
    return this.blockOf(id).numbers[rowOf(id) + column] as number;
  }

  private blockOf(id: number): Block {
    return this.blocks[Math.floor(id / BLOCK_ROWS)] as Block;
  }
}

function rowOf(id: number): number {
  return (id % BLOCK_ROWS) * COLUMNS;
}

/** Sorts the caller ids from 0 to `size` - 1 by `compare`, and returns the first `count` of them. */
export function firstOf(
  size: number,
  count: number,
  compare: (a: number, b: number) => number,
): number[] {
  const first: number[] = [];
  let last: number | undefined;
  for (let id = 0; id < size; id += 1) {
    if (last !== undefined && compare(id, last) >= 0) continue;
    first.push(id);
    // Sorts only when the list has become long, because sorting for each caller would be slow.
    if (first.length < 2 * count + 1_000) continue;
    first.sort(compare).splice(count);
    last = first.at(-1);
  }
  return first.sort(compare).slice(0, count);
}
