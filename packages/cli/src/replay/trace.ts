/** Stores the requests of one limiter as numbers, to try other limits on them. */

const CHUNK = 65_536;

/** Only this many requests are used for trials. They take 32 MB, or 48 MB with costs. */
export const MAX_TRACED = 2_000_000;

/** Requests in columns. */
class Chunk {
  /** The caller of each request; while requests are sorted, the place where the request belongs. */
  readonly callers = new Uint32Array(CHUNK);
  /** The time of each request. If a log has whole seconds, its requests are spread evenly over each second. */
  readonly timesUs = new Float64Array(CHUNK);
  /** How far each time in `timesUs` is after the stamp in the log; 0 if the stamp is exact. */
  readonly leadsUs = new Uint32Array(CHUNK);
  /** The cost of each request. Undefined while all requests cost 1. */
  private costs: Float64Array | undefined;

  set(at: number, caller: number, timeUs: number, leadUs: number, cost: number): void {
    this.callers[at] = caller;
    this.timesUs[at] = timeUs;
    this.leadsUs[at] = leadUs;
    if (cost !== 1) this.costs ??= new Float64Array(CHUNK).fill(1);
    if (this.costs) this.costs[at] = cost;
  }

  cost(at: number): number {
    return this.costs?.[at] ?? 1;
  }
}

export class Trace {
  length = 0;
  private readonly chunks: Chunk[] = [];

  /**
   * @param timeUs the time of the request, as in {@link Chunk.timesUs}; must not decrease
   * @param leadUs how much later `timeUs` is than the stamp in the log
   */
  push(caller: number, timeUs: number, cost: number, leadUs: number): void {
    if (this.length === MAX_TRACED) return;
    if (this.length % CHUNK === 0) this.chunks.push(new Chunk());
    this.chunkOf(this.length).set(this.length % CHUNK, caller, timeUs, leadUs, cost);
    this.length += 1;
  }

  timeUs(at: number, atStart: boolean): number {
    const { timesUs, leadsUs } = this.chunkOf(at);
    const us = timesUs[at % CHUNK] as number;
    return atStart ? us - (leadsUs[at % CHUNK] as number) : us;
  }

  cost(at: number): number {
    return this.chunkOf(at).cost(at % CHUNK);
  }

  /**
   * Sorts the requests by caller and time, in place, because a sorted copy would need as much memory again. Can be
   * called only once.
   *
   * @returns `starts`: the requests of caller `c` begin at `starts[c]` and end before `starts[c + 1]`
   */
  sortByCaller(callerCount: number): Uint32Array {
    const starts = new Uint32Array(callerCount + 2);
    for (let at = 0; at < this.length; at += 1) (starts[this.callerAt(at) + 2] as number) += 1;
    for (let caller = 0; caller < callerCount; caller += 1) {
      (starts[caller + 2] as number) += starts[caller + 1] as number;
    }
    // In this loop, `starts[c + 1]` is the place of the next request of caller `c`.
    for (let at = 0; at < this.length; at += 1) {
      const caller = this.callerAt(at);
      const place = starts[caller + 1] as number;
      this.chunkOf(at).callers[at % CHUNK] = place;
      starts[caller + 1] = place + 1;
    }
    for (let at = 0; at < this.length; at += 1) {
      for (let to = this.callerAt(at); to !== at; to = this.callerAt(at)) this.swap(at, to);
    }
    return starts.subarray(0, -1);
  }

  private swap(one: number, other: number): void {
    const [a, b] = [this.chunkOf(one), this.chunkOf(other)];
    const [i, j] = [one % CHUNK, other % CHUNK];
    const caller = b.callers[j] as number;
    const timeUs = b.timesUs[j] as number;
    const leadUs = b.leadsUs[j] as number;
    const cost = b.cost(j);
    b.set(j, a.callers[i] as number, a.timesUs[i] as number, a.leadsUs[i] as number, a.cost(i));
    a.set(i, caller, timeUs, leadUs, cost);
  }

  private callerAt(at: number): number {
    return this.chunkOf(at).callers[at % CHUNK] as number;
  }

  private chunkOf(at: number): Chunk {
    return this.chunks[Math.floor(at / CHUNK)] as Chunk;
  }
}
