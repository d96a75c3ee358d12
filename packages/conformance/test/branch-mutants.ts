/** Stores that charge the wrong branches, or too many. */

import type { Answer, Step } from '@spillway/core';
import { type Mutant, mutant, steps, withoutBranch } from './mutant.js';
import type { ReferenceStore } from './reference-store.js';

type Group = readonly Step[];

const CHARGES_FIRST = 'charges the first branch that passes';

function isBranched(group: Group): boolean {
  return group.some(({ branch }) => branch !== undefined);
}

/** The branches of a group of which no binding take refuses. */
function passing(group: Group, answers: readonly Answer[]): number[] {
  const branches = new Set(group.flatMap(({ branch }) => branch ?? []));
  const refused = group.filter((step, at) => step.binding && !answers[at]?.allowed);
  for (const { branch } of refused) if (branch !== undefined) branches.delete(branch);
  return [...branches];
}

/** Charges steps that were not charged. */
function alsoCharge(right: ReferenceStore, group: Group): void {
  right.apply(group.map(({ branch: _, ...step }) => ({ ...step, op: 'record' })));
}

/** Asks with other numbers for the branches, and answers with those that were meant. */
function renumbered(right: ReferenceStore, group: Group, to: (branch: number) => number): Answer[] {
  const meant = new Map(group.map(({ branch = 0 }) => [to(branch), branch]));
  const asked = group.map((step) =>
    step.branch === undefined ? step : { ...step, branch: to(step.branch) },
  );
  const answers = right.apply(asked);
  return answers.map((answer) =>
    answer.branch ? { ...answer, branch: meant.get(answer.branch) ?? 0 } : answer,
  );
}

const charges: readonly Mutant[] = [
  mutant('charges every branch that passes', CHARGES_FIRST, (right, group) => {
    const answers = right.apply(group);
    const others = passing(group, answers).filter((branch) => branch !== answers[0]?.branch);
    if (answers[0]?.branch) {
      alsoCharge(
        right,
        group.filter((step) => others.includes(step.branch ?? 0)),
      );
    }
    return answers;
  }),
  mutant('charges the last branch that passes', CHARGES_FIRST, (right, group) =>
    isBranched(group) ? renumbered(right, group, (branch) => 1_000 - branch) : right.apply(group),
  ),
  mutant('ignores branches', CHARGES_FIRST, (right, group) =>
    right.apply(group.map(withoutBranch)),
  ),
  mutant('tries the first branch only', CHARGES_FIRST, (right, group) => {
    const first = Math.min(...group.map(({ branch = Number.POSITIVE_INFINITY }) => branch));
    const rest = group.filter((step) => step.branch !== undefined && step.branch !== first);
    const asked = group.filter((step) => !rest.includes(step));
    const answers = right.apply(asked);
    const branch = answers[0]?.branch ?? 0;
    const looks = rest.map((step) => withoutBranch({ ...step, op: 'look' }));
    const looked = right.apply(looks).map((answer) => ({ ...answer, branch }));
    return group.map((step) =>
      rest.includes(step)
        ? (looked[rest.indexOf(step)] as Answer)
        : (answers[asked.indexOf(step)] as Answer),
    );
  }),
  mutant(
    'takes the branch that stands first as the first',
    'takes the branch of the lowest',
    (right, group) => {
      const order = [...new Set(group.flatMap(({ branch }) => branch ?? []))];
      return renumbered(right, group, (branch) => order.indexOf(branch) + 1);
    },
  ),
  mutant('passes a group though a common take refuses', 'charges no branch if', (right, group) =>
    right.apply(
      isBranched(group)
        ? group.map((step) => (step.branch === undefined ? { ...step, binding: false } : step))
        : group,
    ),
  ),
  mutant(
    'charges the common takes though every branch refuses',
    'charges nothing if',
    (right, group) => {
      const answers = right.apply(group);
      const common = group.filter(({ op, branch }) => op === 'take' && branch === undefined);
      if (passing(group, answers).length === 0 && isBranched(group)) alsoCharge(right, common);
      return answers;
    },
  ),
  mutant('decides each branch of a group by itself', CHARGES_FIRST, (right, group) => {
    const common = right.apply(group.filter(({ branch }) => branch === undefined));
    let place = 0;
    return group.flatMap((step) =>
      step.branch === undefined ? (common[place++] as Answer) : right.apply([step]),
    );
  }),
  mutant(
    'acts on nothing beside branches that refuse',
    'records, looks, gives back',
    (right, group) => {
      const looks = right.apply(group.map((step) => withoutBranch({ ...step, op: 'look' })));
      const refused = isBranched(group) && passing(group, looks).length === 0;
      return refused ? looks.map((answer) => ({ ...answer, branch: 0 })) : right.apply(group);
    },
  ),
];

const shadows: readonly Mutant[] = [
  steps('lets a shadow take refuse its branch', 'passes a branch that has no binding', (step) =>
    step.branch === undefined ? step : { ...step, binding: true },
  ),
  mutant(
    'passes over branches of shadow takes only',
    'passes a branch that has no',
    (right, group) => {
      const bound = group.filter(({ binding }) => binding).map(({ branch }) => branch);
      const later = (branch: number) => (bound.includes(branch) ? branch : branch + 1_000);
      return renumbered(right, group, later);
    },
  ),
  mutant('charges the shadow takes of every branch', 'charges a shadow take only', (right, group) =>
    right.apply(
      group.map((step) =>
        step.binding || !group.some(({ branch, binding }) => binding && branch === step.branch)
          ? step
          : withoutBranch(step),
      ),
    ),
  ),
];

export const branchMutants: readonly Mutant[] = [...charges, ...shadows];
