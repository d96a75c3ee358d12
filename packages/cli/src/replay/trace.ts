/** Stores the requests of one limiter as numbers, to try other limits on them. */

const CHUNK = 65_536;

/** So many requests take 32 MB, or 48 MB with costs. Requests beyond this number are not used for trials. */
export const MAX_TRACED = 2_000_000;

/** Requests in columns. */
export class Requests {
  /** The time of each request, with the requests of a second evenly spread over it. */
  readonly timesUs: Float64Array;
  /** How much the spreading has delayed each request; 0 if its time is known exactly. */
  readonly leadsUs: Uint32Array;
  /** The cost of each request. Undefined while all requests cost 1. */
  costs: Float64Array | undefined;

  constructor(size: number) {
    this.timesUs = new Float64Array(size);
    this.leadsUs = new Uint32Array(size);
  }

  set(at: number, timeUs: number, leadUs: number, cost: number): void {
    this.timesUs[at] = timeUs;
    this.leadsUs[at] = leadUs;
    if (cost !== 1) this.costs ??= new Float64Array(this.timesUs.length).fill(1);
    if (this.costs) this.costs[at] = cost;
  }

  timeUs(at: number, atStart: boolean): number {
    const us = this.timesUs[at] as number;
    return atStart ? us - (this.leadsUs[at] as number) : us;
  }

  cost(at: number): number {
    return this.costs?.[at] ?? 1;
  }
}

interface Chunk {
  readonly callers: Uint32Array;
  readonly requests: Requests;
}

export class Trace {
  length = 0;
  private readonly chunks: Chunk[] = [];

  /**
   * @param timeUs the time of the request, with the requests of a second evenly spread over it; must not decrease
   * @param leadUs how much the spreading has delayed the request
   */
  push(caller: number, timeUs: number, cost: number, leadUs: number): void {
    if (this.length === MAX_TRACED) return;
    const at = this.length % CHUNK;
    if (at === 0) {
      this.chunks.push({ callers: new Uint32Array(CHUNK), requests: new Requests(CHUNK) });
    }
    const { callers, requests } = this.chunks.at(-1) as Chunk;
    callers[at] = caller;
    requests.set(at, timeUs, leadUs, cost);
    this.length += 1;
  }

  /**
   * Moves the requests out of the trace, sorted by caller and time. Those of caller `c` begin at `starts[c]` and end
   * before `starts[c + 1]`.
   */
  byCaller(callerCount: number): { readonly requests: Requests; readonly starts: Uint32Array } {
    const sorted = new Requests(this.length);
    const starts = new Uint32Array(callerCount + 1);
    this.each((caller) => {
      (starts[caller + 1] as number) += 1;
    });
    for (let caller = 0; caller < callerCount; caller += 1) {
      (starts[caller + 1] as number) += starts[caller] as number;
    }
    const next = starts.slice();
    this.each((caller, requests, at) => {
      const place = next[caller] as number;
      next[caller] = place + 1;
      const cost = requests.cost(at);
      sorted.set(place, requests.timesUs[at] as number, requests.leadsUs[at] as number, cost);
    });
    this.chunks.length = 0;
    return { requests: sorted, starts };
  }

  private each(visit: (caller: number, requests: Requests, at: number) => void): void {
    for (const [place, { callers, requests }] of this.chunks.entries()) {
      const end = Math.min(CHUNK, this.length - place * CHUNK);
      for (let at = 0; at < end; at += 1) visit(callers[at] as number, requests, at);
    }
  }
}
