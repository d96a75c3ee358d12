/** Stores that are wrong in one way each about branches. */

import type { Answer, Step } from '@spillway/core';
import { type Mutant, mutant, steps } from './mutant.js';
import type { ReferenceStore } from './reference-store.js';

type Group = readonly Step[];

const CHARGES_FIRST = 'charges the first branch that passes';
const NAMES = 'names the branch that was charged';
const REJECTS = 'rejects a group whose branches';

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

function withoutBranch({ branch: _, ...step }: Step): Step {
  return step;
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

/** The answer as if one unit more were charged. */
function asCharged(answer: Answer): Answer {
  return 'used' in answer ? { ...answer, used: answer.used + 1 } : answer;
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

const answers: readonly Mutant[] = [
  mutant(
    'answers as if each branch were charged',
    'answers the numbers of before',
    (right, group) =>
      right
        .apply(group)
        .map((answer, at) =>
          answer.branch && group[at]?.branch && group[at]?.branch !== answer.branch
            ? asCharged(answer)
            : answer,
        ),
  ),
  mutant('refuses the steps of branches that it does not charge', CHARGES_FIRST, (right, group) =>
    right.apply(group).map((answer, at) => {
      const { branch } = group[at] as Step;
      return branch && branch !== answer.branch ? { ...answer, allowed: false } : answer;
    }),
  ),
  mutant('names the branch after the one that was charged', NAMES, (right, group) =>
    right
      .apply(group)
      .map((answer) => (answer.branch ? { ...answer, branch: answer.branch + 1 } : answer)),
  ),
  mutant('names the place of a branch among the branches', NAMES, (right, group) => {
    const all = [...new Set(group.flatMap(({ branch }) => branch ?? []))].sort((a, b) => a - b);
    return right
      .apply(group)
      .map((answer) =>
        answer.branch ? { ...answer, branch: all.indexOf(answer.branch) + 1 } : answer,
      );
  }),
  mutant('names the branch to the steps of branches only', NAMES, (right, group) =>
    right.apply(group).map((answer, at) => {
      const { branch: _, ...rest } = answer;
      return group[at]?.branch === undefined ? rest : answer;
    }),
  ),
  mutant('names no branch if none is charged', NAMES, (right, group) =>
    right.apply(group).map(({ branch, ...answer }) => (branch ? { ...answer, branch } : answer)),
  ),
  mutant('names branch 0 in groups without branches', NAMES, (right, group) =>
    right.apply(group).map((answer) => ({ branch: 0, ...answer })),
  ),
];

/** The branch of the first step of a group that names the same count. */
function branchOfFirst(group: Group, { limiter, key }: Step): Pick<Step, 'branch'> {
  const first = group.find((step) => step.limiter === limiter && step.key === key);
  return first?.branch === undefined ? {} : { branch: first.branch };
}

const groups: readonly Mutant[] = [
  mutant('merges steps of one count across branches', REJECTS, (right, group) =>
    right.apply(group.map((step) => ({ ...withoutBranch(step), ...branchOfFirst(group, step) }))),
  ),
  mutant(
    'merges no steps within a branch',
    'counts the same key twice in a branch',
    (right, group) =>
      right.apply(
        group.map((step, at) => (step.branch ? { ...step, key: `${step.key} ${at}` } : step)),
      ),
  ),
  steps('ignores the branch of what is no take', REJECTS, (step) =>
    step.op === 'take' ? step : withoutBranch(step),
  ),
  steps('takes branch 0 and NaN for no branch', REJECTS, (step) =>
    step.branch ? step : withoutBranch(step),
  ),
  steps('rounds the numbers of branches up', REJECTS, (step) =>
    step.branch === undefined || Number.isNaN(step.branch)
      ? step
      : { ...step, branch: Math.min(1e9, Math.ceil(step.branch)) },
  ),
  steps('takes branches below 1', REJECTS, (step) =>
    step.branch !== undefined && step.branch < 1 ? { ...step, branch: 1 } : step,
  ),
  mutant('rejects a group after it has charged a part of it', REJECTS, (right, group) => {
    const common = group.filter(({ op, branch }) => op === 'take' && branch === undefined);
    try {
      return right.apply(group);
    } catch (error) {
      right.apply(common);
      throw error;
    }
  }),
  mutant('decides branches in batches of 100', 'decides three branches of 100', (right, group) =>
    group.length <= 100
      ? right.apply(group)
      : [0, 100, 200].flatMap((from) => right.apply(group.slice(from, from + 100))),
  ),
  mutant(
    'ignores branches (in a generated trace)',
    'replays groups with branches',
    (right, group) => right.apply(group.map(withoutBranch)),
  ),
  mutant('passes only when every branch passes', 'admits a group with branches', (right, group) => {
    const answers = right.apply(group.map(withoutBranch));
    const refused = group.some((step, at) => step.binding && !answers[at]?.allowed);
    const first = Math.min(...group.flatMap(({ branch }) => branch ?? []));
    return answers.map((answer) => ({ ...answer, branch: refused ? 0 : first }));
  }),
];

export const branchMutants: readonly Mutant[] = [...charges, ...shadows, ...answers, ...groups];
