import { createHash } from 'node:crypto';
import { barsOver, barsOverTime } from './pictures.js';
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

const STYLE = `
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .8rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; }
svg { width: 100%; height: auto; }
svg text { font-size: 12px; fill: currentColor; }
.all { fill: #8887; }
.rejected { fill: #d4351c; }
pre { overflow-x: auto; background: #8882; padding: .5rem; }
`;

export function reportHtml(report: ReplayReport): string {
  const { logs, policy, compare, notes } = report;
  const hash = createHash('sha256').update(STYLE).digest('base64');
  const shown = logs.flatMap(({ name, unparsedLines }) =>
    unparsedLines.map((line) => `${name}: ${line}`),
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${hash}'">
<meta name="viewport" content="width=device-width">
<title>spillway replay</title>
<style>${STYLE}</style>
</head>
<body>
<h1>What this policy would have rejected</h1>
${paragraphs([...overview(report), ...notes.map((note) => `Note: ${note}`)])}
${shown.length > 0 ? `<p>Lines that are no requests, such as:</p><pre>${escaped(shown.join('\n'))}</pre>` : ''}
${policyParts(policy)}
${compare ? comparisonPart(compare) : ''}
</body>
</html>
`;
}

function policyParts({ limiters }: PolicyReport): string {
  return limiters
    .map((limiter) =>
      limiter.judged
        ? limiterPart(limiter)
        : `<h2>${escaped(limiter.name)}</h2>\n${paragraphs([limiter.why])}`,
    )
    .join('\n');
}

function limiterPart(limiter: JudgedLimiter): string {
  const { use, timeline } = limiter;
  const parts = [
    `<h2>${escaped(limiter.name)}: ${escaped(declared(limiter))}</h2>`,
    paragraphs([verdict(limiter), statusLine(limiter)]),
    timeline.requests.length > 0 &&
      `<h3>Requests over time, those that it would have rejected in red</h3>${barsOverTime(timeline)}`,
    use.length > 0 &&
      `<h3>Callers by their fullest window, in percent of the limit</h3>${barsOver(use)}`,
    table(callerTable(limiter), '<h3>Callers</h3>'),
    table(trialTable(limiter), '<h3>Rejected requests (callers) at other limits</h3>'),
    table(smallestTable(limiter)),
  ];
  return parts.filter(Boolean).join('\n');
}

function comparisonPart(comparison: Comparison): string {
  return [
    '<h1>The other policy</h1>',
    paragraphs([comparedLine(comparison)]),
    table(newlyHitTable(comparison)),
    policyParts(comparison.policy),
  ].join('\n');
}

function table({ head, rows }: Table, title = ''): string {
  if (rows.length === 0) return '';
  const line = (cells: readonly string[], tag: string): string =>
    `<tr>${cells.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join('')}</tr>`;
  const lines = [line(head, 'th'), ...rows.map((row) => line(row, 'td'))];
  return `${title}<table>\n${lines.join('\n')}\n</table>`;
}

function paragraphs(texts: readonly string[]): string {
  return texts
    .filter((text) => text !== '')
    .map((text) => `<p>${escaped(text)}</p>`)
    .join('\n');
}

/** Escapes text that clients may have chosen. It can then neither become markup nor change the text direction. */
function escaped(text: string): string {
  return text.replace(/[&<>"'\p{Cc}\p{Cf}]/gu, (unit) =>
    unit === '\n' ? unit : `&#${/[\p{Cc}\p{Cf}]/u.test(unit) ? 0xfffd : unit.charCodeAt(0)};`,
  );
}
