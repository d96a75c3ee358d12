import type { TimelineReport } from './report.js';

const BARS = 240;

export class Timeline {
  private startUs = -1;
  private widthUs = 60_000_000;
  private readonly requests = new Array<number>(BARS).fill(0);
  private readonly rejected = new Array<number>(BARS).fill(0);
  private used = 0;

  /** Requests must come in the order of time. */
  add(us: number, isRejected: boolean): void {
    if (this.startUs < 0) this.startUs = us - (us % this.widthUs);
    let bar = Math.floor((us - this.startUs) / this.widthUs);
    while (bar >= BARS) {
      this.widen();
      bar = Math.floor((us - this.startUs) / this.widthUs);
    }
    (this.requests[bar] as number) += 1;
    if (isRejected) (this.rejected[bar] as number) += 1;
    this.used = bar + 1;
  }

  report(): TimelineReport {
    return {
      startMs: Math.max(0, this.startUs) / 1000,
      widthMs: this.widthUs / 1000,
      requests: this.requests.slice(0, this.used),
      rejected: this.rejected.slice(0, this.used),
    };
  }

  private widen(): void {
    this.widthUs *= 2;
    for (const bars of [this.requests, this.rejected]) {
      for (let bar = 0; bar < BARS; bar += 1) {
        const [one = 0, other = 0] = [bars[2 * bar], bars[2 * bar + 1]];
        bars[bar] = one + other;
      }
    }
  }
}
