/** A replay as text for a terminal. */

import { paint } from '../paint.js';
import { plain } from '../plain.js';
import { table } from '../table.js';
import type { Comparison, JudgedLimiter, PolicyReport, ReplayReport } from './report.js';
import {
  CALLER_HEAD,
  callerRows,
  count,
  declared,
  overview,
  plural,
  SMALLEST_HEAD,
  smallestRows,
  statusLine,
  trialTable,
  verdict,
} from './words.js';

export function reportText(report: ReplayReport): string {
  const { logs, policy, compare, notes } = report;
  const shown = logs.flatMap(({ name, unparsedLines }) =>
    unparsedLines.slice(0, 1).map((line) => `  ${plain(name)}: ${plain(line)}`),
  );
  return [
    [...overview(report), ...shown, ...notes.map((note) => `Note: ${plain(note)}`)].join('\n'),
    ...policyParts(policy),
    ...(compare ? comparisonParts(compare) : []),
  ].join('\n\n');
}

function policyParts({ limiters }: PolicyReport): string[] {
  return limiters.flatMap((limiter) => {
    const name = paint('bold', plain(limiter.name));
    return limiter.judged ? limiterParts(name, limiter) : [`${name}\n${limiter.why}`];
  });
}

function limiterParts(name: string, limiter: JudgedLimiter): string[] {
  const [head = [], ...rows] = trialTable(limiter);
  const smallest = smallestRows(limiter);
  const lines = [`${name}: ${declared(limiter)}`, verdict(limiter), statusLine(limiter)];
  return [
    lines.filter((line) => line !== '').join('\n'),
    ...(limiter.top.length > 0 ? [safeTable(CALLER_HEAD, callerRows(limiter))] : []),
    ...(rows.length > 0 ? [`Rejected requests (callers):\n${safeTable(head, rows)}`] : []),
    ...(smallest.length > 0 ? [safeTable(SMALLEST_HEAD, smallest)] : []),
  ];
}

function comparisonParts({ policy, newlyHit, noLongerHit, top }: Comparison): string[] {
  const rows = top.map(({ caller, rejected }) => [caller, count(rejected)]);
  return [
    `${paint('bold', 'Compared')}: ${plural(newlyHit, 'caller')} newly hit, ${count(noLongerHit)} no longer.`,
    ...(rows.length > 0 ? [safeTable(['NEWLY HIT', 'REJECTED'], rows)] : []),
    ...policyParts(policy),
  ];
}

function safeTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return table(
    head,
    rows.map((row) => row.map(plain)),
  );
}
