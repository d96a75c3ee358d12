import { type CommonOptions, connected } from '../connection.js';
import { print, printJson } from '../output.js';
import { plain } from '../plain.js';
import { findingsOf } from './checks.js';
import { factsOf } from './facts.js';
import type { Finding, Verdict } from './finding.js';

const MARKS: Readonly<Record<Verdict, string>> = {
  ok: 'ok',
  warning: 'WARNING',
  problem: 'PROBLEM',
  unknown: 'unknown',
};

class ProblemsFound extends Error {}

/**
 * Checks Redis and prints what it found. To do so, it writes one probe key and removes it.
 *
 * @throws ProblemsFound if at least one finding is a `problem`
 */
export function doctor(options: CommonOptions): Promise<void> {
  return connected(options, async ({ client, control, prefix }) => {
    const findings = findingsOf(await factsOf(client, control, prefix));
    if (options.json) printJson({ findings });
    else print(report(findings));
    const problems = findings.filter(({ verdict }) => verdict === 'problem').length;
    if (problems > 0)
      throw new ProblemsFound(`${problems} ${problems === 1 ? 'problem' : 'problems'} found`);
  });
}

function report(findings: readonly Finding[]): string {
  const checkWidth = Math.max(...findings.map(({ check }) => check.length));
  const markWidth = Math.max(...Object.values(MARKS).map((mark) => mark.length));
  return findings
    .flatMap(({ check, verdict, found, todo }) => {
      const line = `${MARKS[verdict].padEnd(markWidth)}  ${check.padEnd(checkWidth)}  ${plain(found)}`;
      return todo ? [line, `${' '.repeat(markWidth + checkWidth + 4)}-> ${plain(todo)}`] : [line];
    })
    .join('\n');
}
