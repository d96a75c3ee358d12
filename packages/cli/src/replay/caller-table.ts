/** What each caller of a limiter did: plain numbers, so that a million callers need little memory. */

/** The numbers of a caller, in their order. */
const REQUESTS = 0;
/**
 * Rejected requests, in two columns: if all came at the start of their second, and if they were evenly spread over it.
 */
const REJECTED = 1;
/** The second of the latest request, since the epoch. */
const LATEST = 3;
/** For second, minute and hour: the requests in the latest one, and the most in any. */
const PEAKS = 4;
const COLUMNS = 10;
const SPANS_SECONDS = [1, 60, 3_600] as const;
/** Rows are kept in blocks, because one array that grows is there twice while it is copied. */
const BLOCK_ROWS = 16_384;

/** Beyond them callers share one row: an attack must not fill the memory. */
export const MAX_CALLERS = 1_000_000;
const OTHERS = '(other callers)';

/** At a timing: 0: all requests of a second at its start, 1: evenly spread over it. */
export type Timing = 0 | 1;

export interface CallerPeaks {
  readonly second: number;
  readonly minute: number;
  readonly hour: number;
}

export class CallerTable {
  private readonly ids = new Map<string, number>();
  private readonly names: string[] = [];
  private readonly blocks: Uint32Array[] = [];

  get size(): number {
    return this.names.length;
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
    return this.names[id] as string;
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
    const known = this.ids.get(caller);
    if (known !== undefined) return known;
    if (this.names.length >= MAX_CALLERS && caller !== OTHERS) return this.idOf(OTHERS);
    const id = this.names.length;
    this.ids.set(caller, id);
    this.names.push(caller);
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
