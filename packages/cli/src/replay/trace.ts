/** The requests of one limiter as numbers: what other limits are tried on. */

const CHUNK = 65_536;
const SECOND_US = 1_000_000;

/** 24 MB, and 16 more with costs. The requests beyond are not tried. */
export const MAX_TRACED = 2_000_000;

interface Chunk {
  /** Twice the caller, and one more if the second of its stamp is all that is known. */
  readonly callers: Uint32Array;
  readonly timesUs: Float64Array;
  /** Undefined while each costs 1. */
  costs: Float64Array | undefined;
}

export class Trace {
  length = 0;
  /** Whether a request costs another number than 1. */
  hasCosts = false;
  private readonly chunks: Chunk[] = [];

  /**
   * @param timeUs with the requests of a second evenly spread over it
   * @param isWholeSecond whether the second is all that is known of it
   */
  push(caller: number, timeUs: number, cost: number, isWholeSecond: boolean): void {
    if (this.length === MAX_TRACED) return;
    const at = this.length % CHUNK;
    if (at === 0) {
      this.chunks.push({
        callers: new Uint32Array(CHUNK),
        timesUs: new Float64Array(CHUNK),
        costs: undefined,
      });
    }
    const chunk = this.chunks.at(-1) as Chunk;
    chunk.callers[at] = caller * 2 + Number(isWholeSecond);
    chunk.timesUs[at] = timeUs;
    this.hasCosts ||= cost !== 1;
    if (cost !== 1) chunk.costs ??= new Float64Array(CHUNK).fill(1);
    if (chunk.costs) chunk.costs[at] = cost;
    this.length += 1;
  }

  /**
   * Visits each request in the order of time, until a visit returns false.
   *
   * @param atStart true: at the start of its second, false: as it was pushed
   */
  each(atStart: boolean, visit: (caller: number, timeUs: number, cost: number) => boolean): void {
    let latestUs = 0;
    for (const [place, { callers, timesUs, costs }] of this.chunks.entries()) {
      const end = Math.min(CHUNK, this.length - place * CHUNK);
      for (let at = 0; at < end; at += 1) {
        const us = timesUs[at] as number;
        const caller = callers[at] as number;
        const isAtStart = atStart && caller % 2 === 1;
        latestUs = Math.max(latestUs, isAtStart ? us - (us % SECOND_US) : us);
        if (!visit(caller >>> 1, latestUs, costs?.[at] ?? 1)) return;
      }
    }
  }
}
