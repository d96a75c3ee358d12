import type { Decision, Mode } from '../../contract/decision.js';
import { CallerWindows } from './caller-windows.js';
import { type LimiterReport, NO_COUNTS } from './report.js';

export class LimiterRecord {
  readonly limiter: string;
  /** Publications due: two after each decision. If both have the same counts, readers see that the rate is 0. */
  publications = 0;
  publishedAtUs = 0;
  mode: Mode = 'enforce';
  allowed = 0;
  /** How many of the next denied requests need no call of {@link add}: this number is decreased instead. */
  toSkip = 0;
  /** `toSkip` at the last {@link settle}. */
  private skipping = 0;
  readonly rejected: CallerWindows;
  readonly wouldReject: CallerWindows;
  private readonly counts = { ...NO_COUNTS };

  constructor(limiter: string, random: () => number) {
    this.limiter = limiter;
    this.rejected = new CallerWindows(random);
    this.wouldReject = new CallerWindows(random);
  }

  add({ outcome, allowed }: Decision, key: string | undefined): void {
    this.settle();
    this.counts[outcome] += 1;
    if (outcome === 'would-deny') this.wouldReject.current.add(key);
    else if (!allowed && outcome !== 'replayed') this.rejected.current.add(key);
    this.planSkips();
  }

  private planSkips(): void {
    this.toSkip = this.rejected.current.toSkip;
    this.skipping = this.toSkip;
  }

  /** Adds the skipped requests to the counts. */
  private settle(): void {
    const skipped = this.skipping - this.toSkip;
    this.counts.denied += skipped;
    this.rejected.current.total += skipped;
    this.skipping = this.toSkip;
  }

  turn(ended: number, current: number): void {
    this.settle();
    const isMoved = [this.rejected, this.wouldReject].map((own) => own.turn(ended, current));
    this.planSkips();
    if (isMoved.includes(true)) this.publications = Math.max(1, this.publications);
  }

  report(forMs: number): LimiterReport {
    this.settle();
    const { limiter, mode, counts, allowed, rejected, wouldReject } = this;
    return {
      limiter,
      mode,
      counts: { ...counts, allowed },
      forMs,
      rejected: rejected.tops(),
      wouldReject: wouldReject.tops(),
    };
  }
}
