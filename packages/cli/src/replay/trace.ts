/** The requests of one limiter as numbers: what other limits are tried on. */

const CHUNK = 65_536;
const SECOND_US = 1_000_000;

/** 32 MB. The requests beyond are not tried. */
export const MAX_TRACED = 2_000_000;

interface Chunk {
  readonly callers: Uint32Array;
  readonly timesUs: Float64Array;
  readonly costs: Uint32Array;
}

export class Trace {
  length = 0;
  /** Callers are numbered from 0: so many there are. */
  callers = 0;
  private readonly chunks: Chunk[] = [];

  /** @param timeUs with the requests of a second evenly spread over it */
  push(caller: number, timeUs: number, cost: number): void {
    if (this.length === MAX_TRACED) return;
    const at = this.length % CHUNK;
    if (at === 0) {
      this.chunks.push({
        callers: new Uint32Array(CHUNK),
        timesUs: new Float64Array(CHUNK),
        costs: new Uint32Array(CHUNK),
      });
    }
    const chunk = this.chunks.at(-1) as Chunk;
    chunk.callers[at] = caller;
    chunk.timesUs[at] = timeUs;
    chunk.costs[at] = cost;
    this.length += 1;
    if (caller >= this.callers) this.callers = caller + 1;
  }

  /**
   * Visits each request in the order of time, until a visit returns false.
   *
   * @param atStart true: at the start of its second, false: as it was pushed
   */
  each(atStart: boolean, visit: (caller: number, timeUs: number, cost: number) => boolean): void {
    for (const [place, { callers, timesUs, costs }] of this.chunks.entries()) {
      const end = Math.min(CHUNK, this.length - place * CHUNK);
      for (let at = 0; at < end; at += 1) {
        const us = timesUs[at] as number;
        const timeUs = atStart ? us - (us % SECOND_US) : us;
        if (!visit(callers[at] as number, timeUs, costs[at] as number)) return;
      }
    }
  }
}
