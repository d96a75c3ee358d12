import { compileAddressing, type TrustProxy } from '@spillway/core/adapter';
import { UsageError } from '../usage-error.js';
import { bytesOf, type Log } from './bytes.js';
import { Comparing } from './comparing.js';
import type { FieldMap } from './json-lines.js';
import { merged } from './merge.js';
import type { Policy } from './policy.js';
import { PolicyRun } from './policy-run.js';
import type { OnDecision } from './rehearsal.js';
import type { LogReport, ReplayReport } from './report.js';
import { spreadSeconds } from './seconds.js';
import { Source, type SourceOptions } from './source.js';

export interface ReplayOptions {
  /** Paths, `-` for standard input, or streams of bytes: plain, gzip, or zstd from Node 22.15 on. */
  readonly logs: readonly Log[];
  /** A limiter, an array of limiters, or a guard of `createGuard`. */
  readonly policy: Policy;
  /** A second policy. The report counts the callers that only one of the two policies would reject. */
  readonly compare?: Policy | undefined;
  /**
   * `combined` (also named `nginx`), `combined-and-more`, `common`, `json`, `cloudflare`, or a `log_format` string such
   * as `'$remote_addr [$time_local] "$request" $status'`. Default: detected from the first 100 lines of each log.
   */
  readonly format?: string | undefined;
  /**
   * For JSON lines: maps the nginx name of a field to its path, as in `{ remote_addr: 'client.ip', time: 'ts',
   * http_x_api_key: 'headers.x-api-key' }`. Default: the usual names of the client, time, method, URI, status
   * and user agent.
   */
  readonly fields?: FieldMap | undefined;
  /**
   * Which proxies to trust if the log has `X-Forwarded-For`, as in the adapters' option `trustProxy`. Default: none.
   */
  readonly trustProxy?: TrustProxy | undefined;
  /** The report contains the smallest limit that rejects at most this share of the requests, 0 to 1. Default 0.01. */
  readonly maxRejected?: number | undefined;
  /** The report contains the smallest limit that rejects at most this many callers, an integer from 0. Default 0. */
  readonly maxCallers?: number | undefined;
  /** How many callers to list for each limiter: an integer from 0. Default 10. */
  readonly top?: number | undefined;
  /**
   * Called for each decision of each limiter of `policy`, as a guard in shadow mode calls its `onDecision`. Requests
   * with whole-second stamps are spread evenly over their second.
   */
  readonly onDecision?: OnDecision | undefined;
  /**
   * Called for each chunk before it is parsed, with the numbers of bytes and requests read so far. `size` is the size
   * of all logs in bytes; undefined if it cannot be known.
   */
  readonly onProgress?:
    | ((progress: {
        readonly bytes: number;
        readonly size: number | undefined;
        readonly requests: number;
      }) => void)
    | undefined;
}

/**
 * Replays access logs through the limiters of a policy, in shadow mode and with the log's clock. Malformed lines are
 * counted. Memory is bounded: each limiter distinguishes at most 1,000,000 callers (100 MB), and only its first
 * 2,000,000 requests are used to try other limits.
 *
 * @throws UsageError (a rejected promise) if a log cannot be read or an option is wrong; SpillwayError if the policy or
 * `trustProxy` is invalid
 * @example
 * ```ts run
 * import { replay } from '@spillway/cli/replay';
 * import { rateLimit } from '@spillway/core';
 *
 * const line = '203.0.113.7 - - [26/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "curl/8"\n';
 * async function* log() {
 *   yield Buffer.from(line.repeat(5));
 * }
 * const report = await replay({ logs: [log()], policy: rateLimit({ limit: 2, window: '1m' }) });
 * report.requests; // 5
 * report.policy.rejected.high; // 3
 * ```
 */
export async function replay(options: ReplayOptions): Promise<ReplayReport> {
  const { maxRejected = 0.01, maxCallers = 0, top = 10 } = options;
  within('maxRejected', maxRejected, 'a share from 0 to 1', maxRejected >= 0 && maxRejected <= 1);
  for (const [name, value] of Object.entries({ maxCallers, top })) {
    within(name, value, 'an integer from 0', Number.isInteger(value) && value >= 0);
  }
  const first = new PolicyRun(options.policy, options.onDecision);
  const other = options.compare && new PolicyRun(options.compare);
  const comparing = new Comparing();
  // Limiters whose window is too short for the log are not compared either. They are known only at the end of the logs.
  const isSplit = first.hasShortWindow || other?.hasShortWindow === true;
  const longComparing = isSplit ? new Comparing() : comparing;
  const { sources, probe } = sourcesOf(options);

  let span: [number, number] | undefined;
  for await (const entries of spreadSeconds(merged(sources, probe))) {
    for (const entry of entries) {
      span ??= [entry.timeUs, entry.timeUs];
      span[1] = entry.timeUs;
      // Nearly all decisions are synchronous. A promise for each request would take longer than the decision.
      const later = first.decide(entry);
      if (later) await later;
      if (!other) continue;
      const otherLater = other.decide(entry);
      if (otherLater) await otherLater;
      comparing.note(first.latest, other.latest);
      if (isSplit) longComparing.note(first.longLatest, other.longLatest);
    }
  }

  const counts = sources.map((source) => source.counts);
  const wholeSeconds = counts.some((log) => log.wholeSeconds && log.requests > 0);
  const run = { maxRejected, maxCallers, top, wholeSeconds };
  const sum = (name: 'requests' | 'unparsed' | 'outOfOrder' | 'notReplayed'): number =>
    counts.reduce((total, log) => total + log[name], 0);
  return {
    requests: sum('requests'),
    unparsed: sum('unparsed'),
    outOfOrder: sum('outOfOrder'),
    notReplayed: sum('notReplayed'),
    fromMs: span ? span[0] / 1000 : null,
    toMs: span ? span[1] / 1000 : null,
    wholeSeconds,
    logs: counts,
    policy: first.report(run),
    ...(other && {
      compare: (wholeSeconds ? longComparing : comparing).report(other.report(run), top),
    }),
    notes: [...notesOn(counts), ...first.notes(), ...(other?.notes() ?? [])],
  };
}

function sourcesOf({ logs, format, fields = {}, trustProxy, onProgress }: ReplayOptions) {
  if (logs.length === 0) throw new UsageError('logs must have at least one');
  const bytes = logs.map(bytesOf);
  const size = bytes.every((log) => log.size !== undefined)
    ? bytes.reduce((sum, log) => sum + (log.size ?? 0), 0)
    : undefined;
  const addressing = trustProxy === undefined ? undefined : compileAddressing({ trustProxy });
  const options: SourceOptions = { format, fields, addressing, onBytes: () => {} };
  let read = 0;
  const onBytes = (count: number): void => {
    read += count;
    const requests = sources.reduce((sum, { counts }) => sum + counts.requests, 0);
    onProgress?.({ bytes: read, size, requests });
  };
  const sources = bytes.map((log) => new Source(log, { ...options, onBytes }));
  return { sources, probe: (source: Source) => new Source(source.bytes, options) };
}

function notesOn(logs: readonly LogReport[]): string[] {
  const notes: string[] = [];
  for (const { name, requests, unparsed, damage, notReplayed } of logs) {
    if (damage) notes.push(`${name} ends early: ${damage}.`);
    if (requests === 0 && unparsed > 0) {
      notes.push(
        `No line of ${name} could be read. Name its format with --format (and the fields of JSON lines with --fields).`,
      );
    }
    if (notReplayed > 0) {
      notes.push(
        `${notReplayed} requests of ${name} were not replayed: their stamps are more than a minute before those of earlier lines, or a day ahead. Pass rotated files as arguments: they are put in order.`,
      );
    }
  }
  return notes;
}

function within(name: string, value: number, range: string, isWithin: boolean): void {
  if (!isWithin) throw new UsageError(`${name} must be ${range}, got ${value}`);
}
