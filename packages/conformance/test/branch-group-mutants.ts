/** Stores that answer wrongly to groups with branches, or decide groups that are not valid. */

import type { Answer, Step } from '@spillway/core';
import { type Mutant, mutant, steps, withoutBranch } from './mutant.js';

type Group = readonly Step[];

const NAMES = 'names the branch that was charged';
const REJECTS = 'rejects a group whose branches';

/** The answer as if one unit more were charged. */
function asCharged(answer: Answer): Answer {
  return 'used' in answer ? { ...answer, used: answer.used + 1 } : answer;
}

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
  mutant(
    'refuses the steps of branches that it does not charge',
    'charges the first branch that passes',
    (right, group) =>
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
  mutant('rejects a group after it has charged some of it', REJECTS, (right, group) => {
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

export const branchGroupMutants: readonly Mutant[] = [...answers, ...groups];
