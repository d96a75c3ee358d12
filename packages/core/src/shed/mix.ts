/** The traffic's shares by class, and how a fraction of all traffic is spent on the lowest classes first. */

/** Counts fade to 1/e in so long a time: long against a burst, short against a change of the traffic. */
const MEMORY_US = 3_000_000;

export class Mix {
  private readonly counts: number[];
  private total = 0;
  private fadedUs: number | undefined;

  /** @param classes how many there are; rank 0 is shed first. */
  constructor(classes: number) {
    this.counts = new Array<number>(classes).fill(0);
  }

  /** Counts a request of a class, whether it will be refused or not. */
  add(rank: number, nowUs: number): void {
    this.fade(nowUs);
    this.counts[rank] = (this.counts[rank] ?? 0) + 1;
    this.total += 1;
  }

  /** The probability with which to refuse a class, when `fraction` of all traffic is to be refused. */
  probability(fraction: number, rank: number): number {
    let left = fraction * this.total;
    for (let lower = 0; lower < rank; lower++) left -= this.counts[lower] ?? 0;
    const own = this.counts[rank] ?? 0;
    if (left <= 0 || own <= 0) return 0;
    return Math.min(left / own, 1);
  }

  /** In steps of a tenth of the memory, so that most requests cost one addition. */
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
