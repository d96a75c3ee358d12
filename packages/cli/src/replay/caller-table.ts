/** What each caller of a limiter did: plain numbers, so that a million callers need little memory. */

/** The numbers of a caller, in their order. */
const REQUESTS = 0;
/** Rejected with all requests at the start of their second, and evenly spread. */
const REJECTED = 1;
/** For second, minute and hour: which one it is, the requests in it, the most in any. */
const PEAKS = 3;
const COLUMNS = 12;
const SPANS_US = [1_000_000, 60_000_000, 3_600_000_000] as const;

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
  private numbers = new Uint32Array(1_024 * COLUMNS);

  get size(): number {
    return this.names.length;
  }

  /** Counts a request. @returns the row of its caller */
  count(caller: string, timeUs: number): number {
    const id = this.idOf(caller);
    const { numbers } = this;
    const row = id * COLUMNS;
    (numbers[row + REQUESTS] as number) += 1;
    for (let span = 0; span < 3; span += 1) {
      const at = row + PEAKS + span * 3;
      // Small whole numbers, whatever the year.
      const now = Math.floor(timeUs / (SPANS_US[span] as number)) % 2 ** 32;
      if (numbers[at] !== now) {
        numbers[at] = now;
        numbers[at + 1] = 0;
      }
      const inSpan = (numbers[at + 1] as number) + 1;
      numbers[at + 1] = inSpan;
      if (inSpan > (numbers[at + 2] as number)) numbers[at + 2] = inSpan;
    }
    return id;
  }

  reject(id: number, timing: Timing): void {
    (this.numbers[id * COLUMNS + REJECTED + timing] as number) += 1;
  }

  nameOf(id: number): string {
    return this.names[id] as string;
  }

  requestsOf(id: number): number {
    return this.numbers[id * COLUMNS + REQUESTS] as number;
  }

  rejectedOf(id: number, timing: Timing): number {
    return this.numbers[id * COLUMNS + REJECTED + timing] as number;
  }

  peaksOf(id: number): CallerPeaks {
    const most = (span: number) => this.numbers[id * COLUMNS + PEAKS + span * 3 + 2] as number;
    return { second: most(0), minute: most(1), hour: most(2) };
  }

  private idOf(caller: string): number {
    const known = this.ids.get(caller);
    if (known !== undefined) return known;
    if (this.names.length >= MAX_CALLERS && caller !== OTHERS) return this.idOf(OTHERS);
    const id = this.names.length;
    this.ids.set(caller, id);
    this.names.push(caller);
    if (this.numbers.length < (id + 1) * COLUMNS) {
      const larger = new Uint32Array(this.numbers.length * 2);
      larger.set(this.numbers);
      this.numbers = larger;
    }
    return id;
  }
}
