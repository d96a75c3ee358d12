import { getOrMake } from '../../base/get-or-make.js';
import type { Mode, Outcome } from '../../contract/decision.js';
import { mergeLists } from './caller-list.js';
import type { CallerTops } from './caller-windows.js';

/** Decisions by outcome since the process began to count. */
export type OutcomeCounts = Readonly<Record<Outcome, number>>;

/** The report on one limiter, by one process or merged from several. */
export interface LimiterReport {
  readonly limiter: string;
  /** The mode of the latest decision. */
  readonly mode: Mode;
  readonly counts: OutcomeCounts;
  /** How long the process has counted, in milliseconds. In a merged report, the longest of these times. */
  readonly forMs: number;
  /** The callers that were rejected, including rejections while the store failed. */
  readonly rejected: CallerTops;
  /** The callers that would have been rejected if the limiter had not been in shadow mode. */
  readonly wouldReject: CallerTops;
}

/** Where reports are published: `redisReports(client)` of `@spillway/redis`. */
export interface ReportSink {
  /** Publishes reports on these limiters, in place of earlier ones by this process. */
  publish(limiters: readonly LimiterReport[]): Promise<void>;
}

export const NO_COUNTS: OutcomeCounts = {
  allowed: 0,
  denied: 0,
  'would-deny': 0,
  replayed: 0,
  'would-replay': 0,
  skipped: 0,
  error: 0,
};

/**
 * Adds up the reports of several processes by limiter, sorted by name. If modes differ, the mode of the first report
 * counts.
 *
 * @example
 * ```ts
 * import { mergeReports, topCallers } from '@spillway/core/who';
 *
 * const [one, other] = [topCallers(), topCallers()];
 * mergeReports([...one.report(), ...other.report()]);
 * ```
 */
export function mergeReports(reports: readonly LimiterReport[]): readonly LimiterReport[] {
  const byName = new Map<string, LimiterReport[]>();
  for (const report of reports) getOrMake(byName, report.limiter, () => []).push(report);
  return [...byName.keys()].sort().map((limiter) => merge(byName.get(limiter) as LimiterReport[]));
}

function merge(reports: readonly LimiterReport[]): LimiterReport {
  const [first] = reports as [LimiterReport];
  const counts = { ...NO_COUNTS };
  for (const report of reports) {
    for (const outcome of Object.keys(counts) as Outcome[])
      counts[outcome] += report.counts[outcome];
  }
  return {
    limiter: first.limiter,
    mode: first.mode,
    counts,
    forMs: Math.max(...reports.map(({ forMs }) => forMs)),
    rejected: mergeTops(reports.map(({ rejected }) => rejected)),
    wouldReject: mergeTops(reports.map(({ wouldReject }) => wouldReject)),
  };
}

function mergeTops(tops: readonly CallerTops[]): CallerTops {
  return {
    minute: mergeLists(tops.map(({ minute }) => minute)),
    quarter: mergeLists(tops.map(({ quarter }) => quarter)),
  };
}
