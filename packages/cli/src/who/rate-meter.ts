/** Decisions per second, from the counts that processes publish. */

import type { OutcomeCounts } from '@spillway/core/who';
import type { ProcessReport } from '@spillway/redis';

/** Of one limiter in all processes, per second. */
export interface Rates {
  /** Decisions, except skipped ones. */
  readonly requests: number;
  readonly rejected: number;
  readonly wouldReject: number;
  /** Decisions without the store. */
  readonly errors: number;
}

interface Reading {
  readonly counts: OutcomeCounts;
  /** When its process made the last call, by the clock of this process. */
  readonly atMs: number;
}

export class RateMeter {
  /** By process and limiter. */
  private last = new Map<string, Reading>();

  /** The rates since the last call, by limiter. A process that is seen for the first time has none. */
  measure(processes: readonly ProcessReport[], nowMs: number): ReadonlyMap<string, Rates> {
    const readings = new Map<string, Reading>();
    const rates = new Map<string, Rates>();
    for (const { process, ageMs, limiters } of processes) {
      for (const { limiter, counts } of limiters) {
        const id = JSON.stringify([process, limiter]);
        const reading = { counts, atMs: nowMs - ageMs };
        readings.set(id, reading);
        const before = this.last.get(id);
        if (before) rates.set(limiter, sum(rates.get(limiter), between(before, reading)));
      }
    }
    this.last = readings;
    return rates;
  }
}

function between(before: Reading, after: Reading): Rates {
  const seconds = (after.atMs - before.atMs) / 1000;
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
