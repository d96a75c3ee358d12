import type { Decision, Mode } from '../../contract/decision.js';
import { CallerWindows } from './caller-windows.js';
import { type LimiterReport, NO_COUNTS, NO_TOPS } from './report.js';

export class LimiterRecord {
  readonly limiter: string;
  /**
   * How many publications are due: two after each decision. If the second one has the same counts as the first, readers
   * see that the rate is 0.
   */
  publications = 0;
  publishedAtUs = 0;
  rejected: CallerWindows | undefined;
  wouldReject: CallerWindows | undefined;
  private mode: Mode = 'enforce';
  private readonly counts = { ...NO_COUNTS };

  private readonly random: () => number;

  constructor(limiter: string, random: () => number) {
    this.limiter = limiter;
    this.random = random;
  }

  add({ outcome, allowed }: Decision, mode: Mode, key: string | undefined): void {
    const { counts } = this;
    // The two usual outcomes are written as fixed names, because V8 is several times slower if the name is a variable.
    if (outcome === 'allowed') counts.allowed += 1;
    else if (outcome === 'denied') counts.denied += 1;
    else counts[outcome] += 1;
    this.mode = mode;
    this.publications = 2;
    if (outcome === 'replayed') return;
    if (!allowed) {
      this.rejected ??= new CallerWindows(this.random);
      this.rejected.add(key);
    } else if (outcome === 'would-deny') {
      this.wouldReject ??= new CallerWindows(this.random);
      this.wouldReject.add(key);
    }
  }

  turn(ended: number, current: number): void {
    const isMoved = [this.rejected, this.wouldReject].map((own) => own?.turn(ended, current));
    if (isMoved.includes(true)) this.publications = Math.max(1, this.publications);
  }

  report(forMs: number): LimiterReport {
    const { limiter, mode, counts, rejected, wouldReject } = this;
    return {
      limiter,
      mode,
      counts: { ...counts },
      forMs,
      rejected: rejected?.tops() ?? NO_TOPS,
      wouldReject: wouldReject?.tops() ?? NO_TOPS,
    };
  }
}
