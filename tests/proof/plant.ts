/** Plants bugs, one at a time, and finds out which laws catch each. */

import { simulate } from '@spillway/conformance/simulator';
import type { Bug } from './bugs.js';
import { subjectOf } from './subject.js';

export interface Catch {
  readonly bug: Bug;
  /** The laws that were broken in the history that showed it first, and in some after it. */
  readonly laws: readonly string[];
  /** How many histories it took; 0 if none showed it. */
  readonly histories: number;
  readonly seconds: number;
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
  const startMs = performance.now();
  const laws = new Set<string>();
  let [histories, seconds] = [0, 0];
  for (let n = 0; n < most; n += 1) {
    const { failure } = await simulate(subject, { seed: seed + n, shrinks: false });
    for (const law of failure?.broken.keys() ?? []) laws.add(law);
    if (histories === 0 && laws.size > 0) {
      histories = n + 1;
      seconds = (performance.now() - startMs) / 1_000;
    }
    if (histories > 0 && n >= histories + more) break;
  }
  return { bug, laws: [...laws], histories, seconds };
}

/** The rows of the table in docs/proof.md. */
export function row({ bug, laws, histories, seconds }: Catch): string {
  const caught = laws.length === 0 ? '**none**' : laws.map((law) => `\`${law}\``).join(', ');
  const alone = laws.length === 1 ? ' (alone)' : '';
  return `| ${bug.name} | ${bug.seenIn ?? ''} | ${caught}${alone} | ${histories} | ${seconds.toFixed(1)} |`;
}
