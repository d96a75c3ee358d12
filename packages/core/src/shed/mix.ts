/** Each class's part of the traffic, to refuse a fraction of all requests from the lowest classes first. */

/** In so long a time counts fall to 1/e: much longer than a burst, much shorter than traffic takes to change. */
const MEMORY_US = 3_000_000;

export class Mix {
  private readonly counts: number[];
  private total = 0;
  private fadedUs: number | undefined;

  /** @param classes how many classes there are; rank 0 is shed first */
  constructor(classes: number) {
    this.counts = new Array<number>(classes).fill(0);
  }

  /** Counts a request of the class, refused or not. */
  add(rank: number, nowUs: number): void {
    this.fade(nowUs);
    this.counts[rank] = (this.counts[rank] ?? 0) + 1;
    this.total += 1;
  }

  /** The probability with which to refuse a request of the class, so that `fraction` of all requests is refused. */
  probability(fraction: number, rank: number): number {
    let left = fraction * this.total;
    for (let lower = 0; lower < rank; lower++) left -= this.counts[lower] ?? 0;
    const own = this.counts[rank] ?? 0;
    if (left <= 0 || own <= 0) return 0;
    return Math.min(left / own, 1);
  }

  /** Reduces the counts, at most ten times in {@link MEMORY_US}, so that most requests only add 1. */
  private fade(nowUs: number): void {
    this.fadedUs ??= nowUs;
    const elapsedUs = nowUs - this.fadedUs;
    if (elapsedUs < MEMORY_US / 10) return;
    this.fadedUs = nowUs;
    const factor = Math.exp(-elapsedUs / MEMORY_US);
    this.total = 0;
    for (let rank = 0; rank < this.counts.length; rank++) {
      const faded = (this.counts[rank] ?? 0) * factor;
      this.counts[rank] = faded;
      this.total += faded;
    }
  }
}
