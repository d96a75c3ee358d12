/** Stores that are wrong in one way each about rules with debt. */

import type { Step } from '@spillway/core';
import { makeRule, type Rule } from '@spillway/core/store';
import { type Mutant, mutant, steps } from './mutant.js';

/** A store that changes each step under a rule with debt. */
function debts(name: string, caughtBy: string, change: (step: Step) => Step): Mutant {
  return steps(name, caughtBy, (step) => (step.rule.debt === undefined ? step : change(step)));
}

function withoutDebt({ debt: _, deepest: __, ...rule }: Rule & { deepest?: unknown }): Rule {
  return rule as Rule;
}

const RECORDS = 'records up to the limit and the debt';
const OWES = 'charges what a grant owes';

export const debtMutants: readonly Mutant[] = [
  debts('knows no debt', RECORDS, (step) => ({ ...step, rule: withoutDebt(step.rule) })),
  debts('lets takes into debt', 'rejects for exactly the promised wait in debt', (step) => {
    const { rule } = step;
    if (rule.machine !== 'bucket' || step.op !== 'take') return step;
    const all = rule.burst + (rule.debt ?? 0);
    return { ...step, rule: { ...makeRule('token-bucket', rule.limit, rule.windowUs, all) } };
  }),
  debts('charges nothing of what is owed', OWES, (step) => ({ ...step, owed: 0 })),
  debts('judges what is owed', OWES, ({ owed = 0, ...step }) =>
    step.op === 'take' ? { ...step, cost: step.cost + owed } : { ...step, owed },
  ),
  mutant('charges what is owed with a rejection', OWES, (right, group) => {
    const answers = right.apply(group);
    const refused = group.filter(
      ({ op, owed }, at) => op === 'take' && owed && !answers[at]?.allowed,
    );
    right.apply(refused.map((step) => ({ ...step, op: 'record', cost: step.owed as number })));
    return answers;
  }),
  mutant(
    'charges what is owed before the group is decided',
    'charges no debt if',
    (right, group) => {
      const owing = group.filter(({ op, owed }) => op === 'take' && owed);
      const rest = group.map((step) => ({ ...step, owed: 0 }));
      right.apply(owing.map(({ owed = 0, ...step }) => ({ ...step, op: 'record', cost: owed })));
      return right.apply(rest);
    },
  ),
  mutant('says nothing of what it forgives', RECORDS, (right, group) =>
    right.apply(group).map((answer) => ({ ...answer, forgiven: 0 })),
  ),
  debts('gives back only the cost that was judged', 'gives back what a grant', (step) =>
    step.op === 'put' ? { ...step, cost: Math.min(step.cost, 50) } : step,
  ),
  debts('begins anew when the limit is changed', 'keeps the debt of a bucket', (step) => ({
    ...step,
    key: `${step.key} ${step.rule.limit}`,
  })),
  debts('counts with debt apart', 'ends the debt of a calendar', (step) => ({
    ...step,
    key: `${step.key} with debt`,
  })),
  mutant('charges the window of the admission', 'ends the debt of a calendar', (right, group) =>
    right.apply(
      group.map((step) =>
        step.op === 'put' && step.rule.debt !== undefined && step.receipt
          ? {
              ...step,
              receipt: { ...step.receipt, atUs: right.nowUs - (right.nowUs % 86_400_000_000) },
            }
          : step,
      ),
    ),
  ),
];
