/** Plants bugs, one at a time, and finds out which laws catch each. */

import { LAWS, simulate } from '@spillway/conformance/simulator';
import type { Bug } from './bugs.js';
import { subjectOf } from './subject.js';

export interface Catch {
  readonly bug: Bug;
  /** The laws that were broken in the history that showed it first, and in some after it. */
  readonly laws: readonly string[];
  /** How many histories it took; 0 if none showed it. */
  readonly histories: number;
}

/**
 * Runs histories with a bug until a law is broken.
 *
 * @param most how many histories to run at most
 * @param more how many histories to judge after it was caught, to see which other laws catch it
 */
export async function plant(
  bug: Bug,
  seed: number,
  most: number,
  more: number = 10,
): Promise<Catch> {
  const subject = await subjectOf(bug.mutations);
  const laws = new Set<string>();
  let histories = 0;
  for (let n = 0; n < most; n += 1) {
    const { failure } = await simulate(subject, { ...bug.focus, seed: seed + n, shrinks: false });
    for (const law of failure?.broken.keys() ?? []) laws.add(law);
    if (histories === 0 && laws.size > 0) histories = n + 1;
    if (histories > 0 && n >= histories + more) break;
  }
  return { bug, laws: [...laws], histories };
}

export function row({ bug, laws, histories }: Catch): string {
  const caught = laws.length === 0 ? 'none' : laws.map((law) => `\`${law}\``).join(', ');
  return `- ${bug.name}: ${caught}; ${histories}`;
}

/** The page that says which laws caught which bugs. */
export function pageOf(results: readonly Catch[], seed: number): string {
  const missed = results.filter(({ laws }) => laws.length === 0).map(({ bug }) => bug.name);
  const laws = Object.keys(LAWS).map((law) => {
    const caught = results.filter(({ laws }) => laws.includes(law));
    const alone = caught.filter(({ laws }) => laws.length === 1).map(({ bug }) => bug.name);
    return `- \`${law}\`: ${caught.length}${alone.length === 0 ? '' : `; alone: ${alone.join('; ')}`}`;
  });
  return [
    '# Planted bugs',
    '',
    `Written by \`npm run prove:bugs -- --seed=${seed}\` on ${new Date().toISOString().slice(0, 10)}: ` +
      `${results.length - missed.length} of ${results.length} were caught.`,
    `Not caught: ${missed.join('; ') || 'none'}.`,
    '',
    'How many bugs each law caught, and which of them no other law did:',
    '',
    ...laws,
    '',
  ].join('\n');
}
