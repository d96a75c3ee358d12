/** Counts the requests of each caller of a limiter in typed arrays: a million callers need little memory. */

import { Names } from './names.js';

/** The columns of a caller's row. */
const REQUESTS = 0;
/** Rejected requests, in two columns: one for each {@link Timing}. */
const REJECTED = 1;
/** The second of the latest request, since the epoch. */
const LATEST = 3;
/** Two columns each for second, minute and hour: the requests in the latest one, and the peak. */
const PEAKS = 4;
const COLUMNS = 10;
const SPANS_SECONDS = [1, 60, 3_600] as const;
/** Rows are stored in blocks, because a growing array takes twice the memory while it is copied. */
const BLOCK_ROWS = 16_384;

/** Further callers share one row, so an attack cannot fill the memory. */
export const MAX_CALLERS = 1_000_000;
const OTHERS = '(other callers)';

/**
 * When requests with whole-second stamps are decided. 0: all at the start of their second, 1: evenly spread over it.
 */
export type Timing = 0 | 1;

export interface CallerPeaks {
  readonly second: number;
  readonly minute: number;
  readonly hour: number;
}

export class CallerTable {
  private readonly names = new Names();
  private readonly blocks: Uint32Array[] = [];

  get size(): number {
    return this.names.size;
  }

  /** Counts a request. @returns the row of its caller */
  count(caller: string, timeUs: number): number {
    const id = this.idOf(caller);
    const numbers = this.blockOf(id);
    const row = rowOf(id);
    const latest = numbers[row + LATEST] as number;
    const now = Math.floor(timeUs / 1_000_000);
    numbers[row + LATEST] = now;
    (numbers[row + REQUESTS] as number) += 1;
    for (let span = 0; span < 3; span += 1) {
      const seconds = SPANS_SECONDS[span] as number;
      const at = row + PEAKS + span * 2;
      const isSame = Math.floor(latest / seconds) === Math.floor(now / seconds);
      const inSpan = isSame ? (numbers[at] as number) + 1 : 1;
      numbers[at] = inSpan;
      if (inSpan > (numbers[at + 1] as number)) numbers[at + 1] = inSpan;
    }
    return id;
  }

  reject(id: number, timing: Timing): void {
    (this.blockOf(id)[rowOf(id) + REJECTED + timing] as number) += 1;
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

  private idOf(caller: string): number {
    const known = this.names.find(caller);
    if (known >= 0) return known;
    if (this.size >= MAX_CALLERS && caller !== OTHERS) return this.idOf(OTHERS);
    const id = this.names.add();
    if (id % BLOCK_ROWS === 0) this.blocks.push(new Uint32Array(BLOCK_ROWS * COLUMNS));
    return id;
  }

  private numberOf(id: number, column: number): number {
    return this.blockOf(id)[rowOf(id) + column] as number;
  }

  private blockOf(id: number): Uint32Array {
    return this.blocks[Math.floor(id / BLOCK_ROWS)] as Uint32Array;
  }
}

function rowOf(id: number): number {
  return (id % BLOCK_ROWS) * COLUMNS;
}

/**
 * The first `count` of the callers 0 to `size` - 1.
 *
 * @param compare negative if `a` comes before `b`
 */
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
    // Sorts only now and then, because the count may be large.
    if (first.length < 2 * count + 1_000) continue;
    first.sort(compare).splice(count);
    last = first.at(-1);
  }
  return first.sort(compare).slice(0, count);
}
