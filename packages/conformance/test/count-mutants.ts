/** Stores that confuse counts, or write where nothing may be written. */

import type { Answer, Step } from '@spillway/core';
import type { OpenStore } from '../src/index.js';
import { type Mutant, memory, mutant } from './mutant.js';
import { type ReferenceStore, referenceStore } from './reference-store.js';

/** The first step of a group that names the same limiter and key. */
function firstLike(group: readonly Step[], { limiter, key }: Step): Step {
  return group.find((step) => step.limiter === limiter && step.key === key) as Step;
}

const codes: readonly Mutant[] = [
  {
    name: 'ignores the code of a count',
    caughtBy: 'counts rules apart',
    open: () => memory((step) => ({ ...step, rule: { ...step.rule, code: step.rule.machine } })),
  },
  {
    name: 'ignores the code of a count (in a generated trace)',
    caughtBy: 'replays rules that meet',
    open: () => memory((step) => ({ ...step, rule: { ...step.rule, code: step.rule.machine } })),
  },
  {
    name: 'gives every limit a count of its own',
    caughtBy: 'shares what was used',
    open: () =>
      memory((step) => ({
        ...step,
        rule: { ...step.rule, code: `${step.rule.code}.${step.rule.limit}` },
      })),
  },
  mutant('merges steps of different rules', 'decides rules apart', (right, group) => {
    return right.apply(group.map((step) => ({ ...step, rule: firstLike(group, step).rule })));
  }),
  mutant('decides a group that asks two things of one count', 'rejects a group', (right, group) =>
    group.flatMap((step) => right.apply([step])),
  ),
  mutant('binds only if the first of repeated steps does', 'binds a repeated', (right, group) => {
    return right.apply(group.map((step) => ({ ...step, binding: firstLike(group, step).binding })));
  }),
  mutant(
    'judges renewals on the state before them all',
    'renews and gives back',
    (right, group) => {
      const looks = group.map((step) => right.apply([{ ...step, op: 'look' }])[0] as Answer);
      if (group.length < 2 || !group.every(({ op }) => op === 'record')) return right.apply(group);
      for (const [i, step] of group.entries()) if (looks[i]?.allowed) right.apply([step]);
      return looks;
    },
  ),
  {
    name: 'cuts leases to the length of another',
    caughtBy: 'cuts no lease',
    open: openShortened,
  },
];

/** Each take of a permit gives all other leases its own length. */
function openShortened(): OpenStore {
  const right = referenceStore();
  const taken: Step[] = [];
  const apply = (group: readonly Step[]): readonly Answer[] => {
    for (const { op, lease, rule } of group) {
      if (op !== 'take' || !lease) continue;
      for (const other of taken) right.apply([{ ...other, op: 'record', rule }]);
    }
    taken.push(...group.filter(({ op, lease }) => op === 'take' && lease));
    return right.apply(group);
  };
  return { store: { sync: true, apply }, setTimeUs: (us) => right.setTimeUs(us) };
}

/** Repairs a state that is impossible because the clock went back, as a take does that cannot pass. */
function repair(right: ReferenceStore, group: readonly Step[]): void {
  for (const step of group) {
    const lease = step.lease ?? { id: 'repair', critical: false };
    right.apply([{ ...step, op: 'take', cost: Number.MAX_SAFE_INTEGER, lease }]);
    if (step.rule.machine === 'leases') right.apply([{ ...step, op: 'put', lease }]);
  }
}

const repairs: readonly Mutant[] = [
  mutant('repairs what it looks at', 'looks without a trace', (right, group) => {
    if (group.every(({ op }) => op === 'look')) repair(right, group);
    return right.apply(group);
  }),
  mutant('repairs for a cost of 0', 'looks without a trace', (right, group) => {
    if (group.every(({ op, cost }) => op === 'take' && cost === 0)) repair(right, group);
    return right.apply(group);
  }),
  mutant(
    'repairs what it looks at (in a generated trace)',
    'replays token-bucket',
    (right, group) => {
      if (group.every(({ op }) => op === 'look')) repair(right, group);
      return right.apply(group);
    },
  ),
];

export const countMutants: readonly Mutant[] = [...codes, ...repairs];
