/** Stores that lock too often, too rarely, too long, or forever. */

import type { Answer, Step } from '@spillway/core';
import type { LockRule } from '@spillway/core/store';
import { type Mutant, mutant, steps } from './mutant.js';
import type { ReferenceStore } from './reference-store.js';

/** A store that changes the steps under a rule with a penalty. */
function lockSteps(name: string, caughtBy: string, change: (step: Step) => Step): Mutant {
  return steps(name, caughtBy, (step) => (step.rule.machine === 'lock' ? change(step) : step));
}

/** A store that changes the rule of a penalty. */
function rules(name: string, caughtBy: string, change: (rule: LockRule) => LockRule): Mutant {
  return lockSteps(name, caughtBy, (step) => ({ ...step, rule: change(step.rule as LockRule) }));
}

/** A store that does more after each answer to a step under a rule with a penalty. */
function after(
  name: string,
  caughtBy: string,
  more: (right: ReferenceStore, step: Step, answer: Answer, before: Answer) => void,
): Mutant {
  return mutant(name, caughtBy, (right, group) => {
    const looks = group.map((step): Step => ({ ...step, op: 'look', cost: 1 }));
    const before = looks.map((look) => right.apply([look])[0] as Answer);
    const answers = right.apply(group);
    for (const [at, step] of group.entries()) {
      if (step.rule.machine !== 'lock') continue;
      more(right, step, answers[at] as Answer, before[at] as Answer);
    }
    return answers;
  });
}

const until = (answer: Answer): number => ('untilUs' in answer ? answer.untilUs : 0);

export const penaltyMutants: readonly Mutant[] = [
  lockSteps('never locks', 'locks a key with the first', (step) =>
    step.op === 'take' ? { ...step, binding: false } : step,
  ),
  rules('locks as long each time', 'locks a key with the first', (rule) => ({
    ...rule,
    locksUs: rule.locksUs.slice(0, 1),
  })),
  lockSteps('locks for a shadow take', 'locks only for a binding', (step) => ({
    ...step,
    binding: true,
  })),
  after('locks for what can never pass', 'locks only for a binding', (right, step) => {
    if (step.op === 'take' && step.cost > step.rule.limit) {
      right.apply([{ ...step, cost: step.rule.limit, binding: true }]);
    }
  }),
  after('locks for a record', 'locks only for a binding', (right, step, { allowed }) => {
    if (step.op === 'record' && !allowed) right.apply([{ ...step, op: 'take' }]);
  }),
  after('extends a lock by each attempt', 'neither counts nor extends', (right, step, answer) => {
    const holdUs = (step.rule as LockRule).locksUs[0] as number;
    if (step.op === 'take' && until(answer) > 0) right.apply([{ ...step, op: 'hold', holdUs }]);
  }),
  after('locks whoever is rejected by any limit', 'locks no key', (right, step, answer) => {
    const [look] = right.apply([{ ...step, op: 'look', cost: 1 }]);
    const wasCharged = look && 'current' in look && look.current > 0;
    const holdUs = 1_000_000;
    if (step.op === 'take' && answer.allowed && !wasCharged) {
      right.apply([{ ...step, op: 'hold', holdUs }]);
    }
  }),
  after('keeps a lock after a refund', 'ends a lock when', (right, step, _, before) => {
    if (step.op !== 'put' || until(before) === 0) return;
    right.apply([{ ...step, op: 'hold', holdUs: until(before) - right.nowUs }]);
  }),
  after('resets a key with a refund', 'ends a lock when', (right, step, { allowed }) => {
    if (step.op === 'put' && allowed) right.apply([{ ...step, op: 'reset' }]);
  }),
  mutant('ends any lock by any refund', 'ends no later lock', (right, group) =>
    right.apply(
      group.map((step) => {
        const [look] = right.apply([{ ...step, op: 'look', cost: 1 }]);
        if (step.op !== 'put' || !step.receipt || !look || !('untilUs' in look)) return step;
        return { ...step, receipt: { ...step.receipt, atUs: look.endUs } };
      }),
    ),
  ),
  rules('forgets locks at their end', 'forgets locks some time', (rule) => ({
    ...rule,
    forgetUs: 1,
  })),
  rules('never forgets locks', 'forgets locks some time', (rule) => ({
    ...rule,
    forgetUs: 1_000 * rule.forgetUs,
  })),
  mutant('shortens a lock by a hold', 'holds a key', (right, group) => {
    for (const step of group) {
      if (step.op === 'hold') right.apply([{ ...step, op: 'reset' }]);
    }
    return right.apply(group);
  }),
  lockSteps('counts each window apart (in a trace)', 'replays changes of limits', (step) => ({
    ...step,
    key: `${step.key} ${(step.rule as LockRule).windowUs}`,
  })),
  lockSteps('locks for a shadow take (in a trace)', 'replays traces of limits', (step) => ({
    ...step,
    binding: true,
  })),
  rules('locks as long each time (in a trace)', 'replays traces of limits', (rule) => ({
    ...rule,
    locksUs: rule.locksUs.slice(0, 1),
  })),
  rules('forgets locks at their end (in a trace)', 'replays traces of limits', (rule) => ({
    ...rule,
    forgetUs: 1,
  })),
];
