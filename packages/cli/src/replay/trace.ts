/** Stores the requests of one limiter as numbers, to try other limits on them. */

const CHUNK = 65_536;
const SECOND_US = 1_000_000;

/** So many requests take 24 MB, or 40 MB with costs. Requests beyond this number are not used for trials. */
export const MAX_TRACED = 2_000_000;

interface Chunk {
  /** Twice the id of the caller, plus 1 if the time is known only to the second. */
  readonly callers: Uint32Array;
  readonly timesUs: Float64Array;
  /** The cost of each request. Undefined while all requests cost 1. */
  costs: Float64Array | undefined;
}

export class Trace {
  length = 0;
  /** Whether there is a request that doesn't cost 1. */
  hasCosts = false;
  private readonly chunks: Chunk[] = [];

  /**
   * @param timeUs the time of the request, with the requests of a second evenly spread over it
   * @param isWholeSecond whether the time is known only to the second
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
   * @param atStart whether a request whose time is known only to the second is visited at the start of that second;
   * otherwise at the time that was pushed
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
