import type { OutcomeCounts } from '@spillway/core/who';
import type { ProcessReport } from '@spillway/redis';

export interface Rates {
  /** Decisions per second, except skipped ones. */
  readonly requests: number;
  readonly rejected: number;
  readonly wouldReject: number;
  /** Decisions per second that were made without the store. */
  readonly errors: number;
}

interface Reading {
  readonly counts: OutcomeCounts;
  readonly forMs: number;
  readonly rates: Rates | undefined;
}

/** A process that has published nothing for this time has ended. A running one publishes at least every 10 s. */
const DEAD_MS = 20_000;

export class RateMeter {
  private last = new Map<string, Reading>();

  /**
   * Returns the rates of each limiter, summed over processes. The rate of a process is that between its two latest
   * reports, so a new process has none. The rate stays until the process reports the limiter again, which may take more
   * than a second.
   */
  measure(processes: readonly ProcessReport[]): ReadonlyMap<string, Rates> {
    const readings = new Map<string, Reading>();
    const rates = new Map<string, Rates>();
    for (const { process, ageMs, limiters } of processes) {
      for (const { limiter, counts, forMs } of limiters) {
        const id = JSON.stringify([process, limiter]);
        const before = this.last.get(id);
        const reading =
          before?.forMs === forMs
            ? before
            : { counts, forMs, rates: before && between(before, { counts, forMs }) };
        readings.set(id, reading);
        if (reading.rates && ageMs < DEAD_MS) {
          rates.set(limiter, sum(rates.get(limiter), reading.rates));
        }
      }
    }
    this.last = readings;
    return rates;
  }
}

function between(before: Omit<Reading, 'rates'>, after: Omit<Reading, 'rates'>): Rates {
  const seconds = (after.forMs - before.forMs) / 1000;
  const rate = (...outcomes: (keyof OutcomeCounts)[]): number => {
    const counted = outcomes.map((outcome) => after.counts[outcome] - before.counts[outcome]);
    const all = counted.reduce((total, count) => total + count, 0);
    return all > 0 && seconds > 0 ? all / seconds : 0;
  };
  return {
    requests: rate('allowed', 'denied', 'would-deny', 'replayed', 'would-replay', 'error'),
    rejected: rate('denied'),
    wouldReject: rate('would-deny'),
    errors: rate('error'),
  };
}

function sum(a: Rates | undefined, b: Rates): Rates {
  if (!a) return b;
  return {
    requests: a.requests + b.requests,
    rejected: a.rejected + b.rejected,
    wouldReject: a.wouldReject + b.wouldReject,
    errors: a.errors + b.errors,
  };
}
