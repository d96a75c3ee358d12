import { type CallerTops, type LimiterReport, mergeReports } from '@spillway/core/who';
import { type ProcessReport, redisReports } from '@spillway/redis';
import { type CommonOptions, connected } from '../connection.js';
import { nearestFirst } from '../nearest.js';
import { print, printJson } from '../output.js';
import { paint } from '../paint.js';
import { plain } from '../plain.js';
import { table } from '../table.js';
import { UsageError } from '../usage-error.js';
import {
  callersOf,
  countText,
  isSealed,
  keyArguments,
  numberText,
  quoted,
  type RevealOptions,
  revealer,
  shareOf,
  shareText,
} from './callers.js';

type WhoOptions = CommonOptions & RevealOptions;

const NONE_PUBLISHED =
  'No process has published whom it rejects. Give its guards the observer topCallers, with publishTo: ' +
  'redisReports(client). See https://github.com/spillway/spillway/blob/main/docs/who.md';

export function who(limiter: string | undefined, options: WhoOptions): Promise<void> {
  const reveal = revealer(options);
  return connected(options, async ({ client, prefix }) => {
    const reports = redisReports(client, { prefix });
    const processes = await reports.read(limiter);
    const limiters = mergeReports(processes.flatMap((one) => one.limiters)).map((report) => ({
      ...report,
      processes: withLimiter(processes, report.limiter),
      rejected: reveal(report.rejected),
      wouldReject: reveal(report.wouldReject),
    }));
    if (limiter !== undefined && limiters.length === 0) {
      throw new UsageError(unknownLine(limiter, await reports.read()));
    }
    if (options.json) return printJson({ limiters: limiters.map(jsonOf) });
    if (limiters.length === 0) return print(NONE_PUBLISHED);
    const active = limiters.filter(isActive);
    if (active.length === 0) return print('Nobody was rejected in the last 15 minutes.');
    print(
      active
        .sort(byRejections)
        .map((one) => textOf(one, options))
        .join('\n\n'),
    );
  });
}

const SEALED_LINE =
  'Callers that begin with # are sealed: --reveal shows them to those who have the secret.';

type Shown = LimiterReport & { readonly processes: number };

function isActive({ rejected, wouldReject }: LimiterReport): boolean {
  return rejected.quarter.total + wouldReject.quarter.total > 0;
}

function byRejections(a: Shown, b: Shown): number {
  return (
    b.rejected.minute.total - a.rejected.minute.total ||
    b.wouldReject.minute.total - a.wouldReject.minute.total
  );
}

export function withLimiter(processes: readonly ProcessReport[], name: string): number {
  return processes.filter(({ limiters }) => limiters.some(({ limiter }) => limiter === name))
    .length;
}

function unknownLine(limiter: string, processes: readonly ProcessReport[]): string {
  const names = mergeReports(processes.flatMap(({ limiters }) => limiters));
  if (names.length === 0) return NONE_PUBLISHED;
  const near = nearestFirst(
    limiter,
    names.map((one) => one.limiter),
  );
  const shown = plain(near.slice(0, 10).join(', '));
  return `No process has published anything about ${plain(JSON.stringify(limiter))}, only about: ${shown}.`;
}

function textOf(shown: Shown, options: WhoOptions): string {
  const { limiter, mode, processes, rejected, wouldReject } = shown;
  const of = `${processes} ${processes === 1 ? 'process' : 'processes'}`;
  const parts = [`${paint('bold', plain(limiter))} (${plain(mode)}, ${of})`];
  if (rejected.quarter.total > 0) {
    parts.push(topsText('rejected', rejected), adviceOn(rejected, limiter));
  }
  if (wouldReject.quarter.total > 0)
    parts.push(topsText('would be rejected, but it is in shadow mode', wouldReject));
  if (!options.reveal && [rejected, wouldReject].some(hasSealed)) parts.push(SEALED_LINE);
  return parts.filter((part) => part !== '').join('\n');
}

function hasSealed(tops: CallerTops): boolean {
  return callersOf(tops).some(isSealed);
}

function topsText(what: string, tops: CallerTops): string {
  const { minute, quarter } = tops;
  const callers = callersOf(tops);
  const rows = callers.map((caller) => [
    plain(caller),
    countText(minute, caller),
    shareText(minute, caller),
    countText(quarter, caller),
    shareText(quarter, caller),
  ]);
  const totals = `${numberText(minute.total)} in the last minute, ${numberText(quarter.total)} in 15 minutes`;
  const lines = [`${what}: ${totals}`];
  if (rows.length > 0) lines.push(table(['CALLER', '1 MIN', 'SHARE', '15 MIN', 'SHARE'], rows));
  return lines.join('\n');
}

function adviceOn(tops: CallerTops, limiter: string): string {
  const [first] = callersOf(tops);
  const key = first === undefined ? undefined : keyArguments(first);
  return key === undefined
    ? ''
    : `To block the first: spillway block ${quoted(plain(limiter))} --for 1h --because "..." ${key}`;
}

function jsonOf(shown: Shown): object {
  const share = ({ minute, quarter }: CallerTops): object => ({
    minute: shareOf(minute, minute.callers[0]?.caller),
    quarter: shareOf(quarter, quarter.callers[0]?.caller),
  });
  const { rejected, wouldReject } = shown;
  return { ...shown, firstShare: { rejected: share(rejected), wouldReject: share(wouldReject) } };
}
