import { paint } from '../paint.js';
import { plain } from '../plain.js';
import { table } from '../table.js';
import type { Comparison, JudgedLimiter, PolicyReport, ReplayReport } from './report.js';
import {
  callerTable,
  comparedLine,
  declared,
  newlyHitTable,
  overview,
  smallestTable,
  statusLine,
  type Table,
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
  const lines = [`${name}: ${declared(limiter)}`, verdict(limiter), statusLine(limiter)];
  return [
    lines.filter((line) => line !== '').join('\n'),
    ...tableParts(callerTable(limiter)),
    ...tableParts(trialTable(limiter), 'Rejected requests (callers):\n'),
    ...tableParts(smallestTable(limiter)),
  ];
}

function comparisonParts(comparison: Comparison): string[] {
  return [
    `${paint('bold', 'Compared')}: ${comparedLine(comparison)}`,
    ...tableParts(newlyHitTable(comparison)),
    ...policyParts(comparison.policy),
  ];
}

function tableParts({ head, rows }: Table, title = ''): string[] {
  const safe = rows.map((row) => row.map(plain));
  return rows.length > 0 ? [`${title}${table(head, safe)}`] : [];
}
