/** Branches of a group: of several sets of takes, only the first that passes is charged. See `Store`. */

import type { Step } from './store.js';

/** What a group comes to. */
export interface Judgement {
  /** Whether the common takes are charged. */
  readonly passes: boolean;
  /** The branch that is charged, or 0; undefined in a group without branches. */
  readonly branch?: number;
}

const PASSES: Judgement = { passes: true };
const REFUSED: Judgement = { passes: false };

/** The branches of a group, each once, in order. Empty in a group without branches. */
export function branchesOf(steps: readonly Step[]): readonly number[] {
  const branches = new Set<number>();
  for (const { branch } of steps) if (branch !== undefined) branches.add(branch);
  return [...branches].sort((a, b) => a - b);
}

/**
 * Says whether a group passes, and which of its branches is charged.
 *
 * @param passes whether the step at that place passes by itself, on the state before the group
 * @example
 * ```ts
 * const { branch } = judgeGroup(steps, (_, place) => answers[place].allowed);
 * ```
 */
export function judgeGroup(
  steps: readonly Step[],
  passes: (step: Step, place: number) => boolean,
): Judgement {
  const refused = new Set<number | undefined>();
  for (const [place, step] of steps.entries()) {
    if (step.op === 'take' && step.binding && !passes(step, place)) refused.add(step.branch);
  }
  const branches = branchesOf(steps);
  if (branches.length === 0) return refused.size > 0 ? REFUSED : PASSES;
  const branch = refused.has(undefined) ? undefined : branches.find((one) => !refused.has(one));
  return { passes: branch !== undefined, branch: branch ?? 0 };
}
