import { setTimeout as delay } from 'node:timers/promises';
import { mergeReports } from '@spillway/core/who';
import { redisReports } from '@spillway/redis';
import { type CommonOptions, type Connection, connected } from '../connection.js';
import { print, printJson } from '../output.js';
import { plain } from '../plain.js';
import { table } from '../table.js';
import { untilStopped } from '../until-stopped.js';
import { UsageError } from '../usage-error.js';
import { type RevealOptions, revealer, shareOf, shareText } from './callers.js';
import { RateMeter, type Rates } from './rate-meter.js';
import { withLimiter } from './who.js';

type TopOptions = CommonOptions & RevealOptions & { readonly once?: true; readonly every: string };

/** Moves the cursor to the upper left corner, and clears the screen from there. */
const REDRAW = '\u001b[H\u001b[J';
/** Turn the line wrapping of the terminal off and on. */
const [NO_WRAP, WRAP] = ['\u001b[?7l', '\u001b[?7h'];

const HEAD = [
  'LIMITER',
  'MODE',
  'REQ/S',
  'REJECTED/S',
  'WOULD/S',
  'ERROR/S',
  'PROCESSES',
  'SHARE',
  'FIRST CALLER OF THE LAST MINUTE',
];

export function top(options: TopOptions): Promise<void> {
  const reveal = revealer(options);
  const everyMs = 1_000 * secondsFrom(options.every);
  const begin = async ({ client, prefix }: Connection): Promise<() => Promise<void>> => {
    const reports = redisReports(client, { prefix });
    const meter = new RateMeter();
    meter.measure(await reports.read());
    return async () => {
      const processes = await reports.read();
      const rates = meter.measure(processes);
      const rows = mergeReports(processes.flatMap(({ limiters }) => limiters)).map((report) => {
        const { minute } = reveal(report.mode === 'shadow' ? report.wouldReject : report.rejected);
        const { limiter, mode } = report;
        const own = rates.get(limiter) ?? NOTHING;
        return { limiter, mode, ...own, processes: withLimiter(processes, limiter), minute };
      });
      show(rows, options);
    };
  };
  if (!options.once) return untilStopped(options, everyMs, begin);
  return connected({ ...options, reconnects: true }, async (connection) => {
    const look = await begin(connection);
    await delay(everyMs);
    await look();
  });
}

const NOTHING: Rates = { requests: 0, rejected: 0, wouldReject: 0, errors: 0 };

interface Row extends Rates {
  readonly limiter: string;
  readonly mode: string;
  readonly processes: number;
  readonly minute: Parameters<typeof shareOf>[0];
}

function show(rows: readonly Row[], { json, once }: TopOptions): void {
  if (json) {
    const limiters = rows.map(({ minute, ...row }) => {
      const caller = minute.callers[0]?.caller;
      return { ...row, first: { caller: caller ?? null, share: shareOf(minute, caller) } };
    });
    printJson({ at: new Date().toISOString(), limiters });
    return;
  }
  const cells = rows
    .toSorted((a, b) => b.rejected - a.rejected || b.requests - a.requests)
    .map((row) => [
      plain(row.limiter),
      plain(row.mode),
      ...[row.requests, row.rejected, row.wouldReject, row.errors].map(rateText),
      `${row.processes}`,
      shareText(row.minute, row.minute.callers[0]?.caller),
      plain(row.minute.callers[0]?.caller ?? ''),
    ]);
  const isTerminal = process.stdout.isTTY && !once;
  // Prints no more lines than the screen has. The terminal cuts long lines, such as those with a client's key.
  const fitting = isTerminal ? cells.slice(0, Math.max(1, (process.stdout.rows || 24) - 2)) : cells;
  const shown = table(HEAD, fitting);
  if (isTerminal) print(`${REDRAW}${NO_WRAP}${shown}${WRAP}`);
  else print(once ? shown : `${shown}\n`);
}

function rateText(perSecond: number): string {
  if (perSecond === 0) return '0';
  return perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond).toLocaleString('en-US');
}

function secondsFrom(text: string): number {
  const seconds = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (seconds >= 1) return seconds;
  throw new UsageError(`--every must be a number of seconds from 1 to 999, got ${text}`);
}
