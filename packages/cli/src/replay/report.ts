/** The result of a replay, as `--json` prints it. */

import type { CallerPeaks } from './caller-table.js';

/**
 * A result as a range, because the exact number is unknown if stamps are whole seconds. One number is for requests at
 * the start of their second, the other for requests spread evenly over the second. With finer stamps, both are equal.
 */
export interface Range {
  readonly low: number;
  readonly high: number;
}

/** The numbers are as in {@link ReplayReport}. */
export interface LogReport {
  readonly name: string;
  /** The format that was read; null if no line could be read. */
  readonly format: string | null;
  readonly requests: number;
  readonly unparsed: number;
  readonly outOfOrder: number;
  readonly notReplayed: number;
  readonly wholeSeconds: boolean;
  /** The first 3 unparsed lines, each cut to 120 bytes. */
  readonly unparsedLines: readonly string[];
  /** Why the rest of a compressed log could not be read; else null. */
  readonly damage: string | null;
}

/** A caller of a limiter. Peaks are per whole second, minute and hour of the clock. */
export interface CallerReport {
  readonly caller: string;
  readonly requests: number;
  readonly rejected: Range;
  readonly peak: CallerPeaks;
}

/** What a limit with these numbers would have rejected. */
export interface Trial {
  /** The name of the algorithm, such as `token-bucket`. */
  readonly algorithm: string;
  /** Units per window of the declared length. */
  readonly limit: number;
  /** Only for a token bucket. */
  readonly burst?: number;
  readonly rejected: Range;
  readonly rejectedCallers: Range;
}

/**
 * The smallest limits and bursts for which both numbers of the {@link Range} stay within a bound; null if even
 * 1,000,000,000 is too small.
 */
export interface Smallest {
  /** The bound for `limitByRejected` and `burstByRejected`: at most this share of requests rejected. */
  readonly maxRejected: number;
  /** The bound for `limitByCallers` and `burstByCallers`: at most this many callers rejected. */
  readonly maxCallers: number;
  readonly limitByRejected: number | null;
  readonly limitByCallers: number | null;
  /** The smallest burst of a token bucket that refills as declared. */
  readonly burstByRejected: number | null;
  readonly burstByCallers: number | null;
}

/** The requests of a limiter over time, and how many it would have rejected with stamps evenly spread. */
export interface TimelineReport {
  readonly startMs: number;
  readonly widthMs: number;
  readonly requests: readonly number[];
  readonly rejected: readonly number[];
}

/** A limiter that the log could judge. */
export interface JudgedLimiter {
  readonly name: string;
  readonly judged: true;
  readonly algorithm: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly burst?: number;
  /** Requests that the limiter counted. */
  readonly requests: number;
  readonly callers: number;
  readonly rejected: Range;
  readonly rejectedCallers: Range;
  /** The share of rejected requests, from 0 to 1, that came from the most rejected caller; 0 if none was rejected. */
  readonly shareOfFirst: number;
  /** The callers with the most rejected requests first; among equals, those with the most requests first. */
  readonly top: readonly CallerReport[];
  /** The number of rejected requests by the status of their logged response, with stamps evenly spread. */
  readonly statuses: Readonly<Record<string, number>>;
  /**
   * The callers by their peak use of the limit in a window. A row counts the callers whose peak is at most `percent`,
   * but more than the `percent` of the row before. Null means no upper end. Empty if `table` is empty.
   */
  readonly use: readonly { readonly percent: number | null; readonly callers: number }[];
  readonly timeline: TimelineReport;
  /**
   * Empty if other limits cannot be tried, because the limiter has refunds, plans or overage, or counts distinct items.
   */
  readonly table: readonly Trial[];
  readonly smallest: Smallest | null;
}

/** A limiter that the log cannot judge. */
export interface UnjudgedLimiter {
  readonly name: string;
  readonly judged: false;
  /** The reason, as a sentence. */
  readonly why: string;
}

export interface PolicyReport {
  readonly limiters: readonly (JudgedLimiter | UnjudgedLimiter)[];
  /** Requests that at least one judged limiter would have rejected. */
  readonly rejected: Range;
}

/** The callers that only one of `policy` and `compare` would reject, with stamps evenly spread. */
export interface Comparison {
  readonly policy: PolicyReport;
  /** Callers that `compare` rejects, but `policy` never does. */
  readonly newlyHit: number;
  /** Callers that `policy` rejects, but `compare` never does. */
  readonly noLongerHit: number;
  readonly top: readonly { readonly caller: string; readonly rejected: number }[];
}

export interface ReplayReport {
  /** Lines that are requests. */
  readonly requests: number;
  /** Lines that are not requests: cut, of another format, longer than 64 kB, or binary. */
  readonly unparsed: number;
  /** Requests whose stamp is earlier than on a previous line, or far later than on the next line. */
  readonly outOfOrder: number;
  /**
   * Out-of-order requests that were not replayed: more than a minute before a previous request, or more than a day
   * after the next one.
   */
  readonly notReplayed: number;
  /** When the first and the last request came, in milliseconds since the epoch; null without requests. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
  /** Whether the stamps of at least one log are whole seconds. If so, the two ends of a {@link Range} may differ. */
  readonly wholeSeconds: boolean;
  readonly logs: readonly LogReport[];
  readonly policy: PolicyReport;
  readonly compare?: Comparison;
  /** Sentences about limitations of the result, such as a key function that failed. */
  readonly notes: readonly string[];
}

export function rangeOf([a, b]: readonly [number, number]): Range {
  return { low: Math.min(a, b), high: Math.max(a, b) };
}
