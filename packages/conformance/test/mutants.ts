/** Stores that are wrong in one way each, made from a correct one. */

import type { Answer } from '@spillway/core';
import { capacityOf, type Rule } from '@spillway/core/store';
import { ALGORITHMS } from '../src/rules.js';
import { clock, leaseSteps, type Mutant, mutant, names, steps } from './mutant.js';

const refusals: readonly Mutant[] = [
  mutant('charges what it refuses', 'changes nothing when it rejects', (right, group) => {
    const answers = right.apply(group);
    const refused = group.filter((step, at) => step.op === 'take' && !answers[at]?.allowed);
    right.apply(refused.map((step) => ({ ...step, op: 'record' })));
    return answers;
  }),
  steps('admits a cost above the capacity when it is rested', 'answers never', (step) => ({
    ...step,
    cost: Math.min(step.cost, capacityOf(step.rule)),
  })),
  steps('charges one unit for a cost of 0', 'weighs requests', (step) => ({
    ...step,
    cost: Math.max(1, step.cost),
  })),
  steps('charges one unit whatever the cost', 'weighs requests', (step) => ({
    ...step,
    cost: Math.min(1, step.cost),
  })),
  mutant('reads, waits, then writes', 'admits exactly the limit', async (right, group) => {
    const looks = right.apply(group.map((step) => ({ ...step, op: 'look' })));
    await Promise.resolve();
    if (!looks.every(({ allowed }) => allowed)) return looks;
    const written = right.apply(group.map((step) => ({ ...step, op: 'record' })));
    return written.map((answer) => ({ ...answer, allowed: true }));
  }),
];

const groups: readonly Mutant[] = [
  mutant('decides each step of a group by itself', 'charges no step of a group', (right, group) =>
    group.flatMap((step) => right.apply([step])),
  ),
  mutant('decides a group in batches of 100', 'decides a group of 300', (right, group) =>
    [0, 100, 200].flatMap((from) => right.apply(group.slice(from, from + 100))),
  ),
  mutant('looks at a repeated key once for each', 'counts the same key twice', (right, group) => {
    const looks = group.flatMap((step) => right.apply([{ ...step, op: 'look' }]));
    if (group.every(({ op }) => op === 'take') && looks.every(({ allowed }) => allowed)) {
      return group.flatMap((step) => right.apply([{ ...step, op: 'record' }]));
    }
    return right.apply(group);
  }),
  steps('lets a shadow step refuse', 'never rejects a group for a shadow', (step) => ({
    ...step,
    binding: true,
  })),
  steps('never charges a shadow step', 'lets a shadow step charge', (step) => ({
    ...step,
    op: step.op === 'take' && !step.binding ? 'look' : step.op,
  })),
  mutant('charges shadow steps of refused groups', 'lets a shadow step charge', (right, group) => {
    const binding = group.filter((step) => step.binding);
    const answers = right.apply(binding);
    return group.flatMap((step) =>
      step.binding ? (answers[binding.indexOf(step)] as Answer) : right.apply([step]),
    );
  }),
  mutant('answers in reverse order', 'charges no step of a group', (right, group) =>
    right.apply(group).toReversed(),
  ),
];

const operations: readonly Mutant[] = [
  steps('charges a look', 'changes nothing when it rejects', (step) => ({
    ...step,
    op: step.op === 'look' ? 'take' : step.op,
  })),
  steps('does not record what does not pass', 'records what does not pass', (step) => ({
    ...step,
    op: step.op === 'record' ? 'take' : step.op,
  })),
  steps('does not reset', 'forgets a key that is reset', (step) => ({
    ...step,
    op: step.op === 'reset' ? 'look' : step.op,
  })),
  steps('gives nothing back', 'gives back a grant', (step) => ({
    ...step,
    op: step.op === 'put' ? 'look' : step.op,
  })),
  mutant('gives back what has long refilled', 'gives back nothing', (right, group) =>
    right.apply(
      group.map((step) =>
        step.op === 'put'
          ? { ...step, receipt: { atUs: right.nowUs * 2, num: 0, units: 1e9 } }
          : step,
      ),
    ),
  ),
  mutant('gives back into any window', 'gives back nothing', (right, group) => {
    const looks = right.apply(group.map((step) => ({ ...step, op: 'look' })));
    return right.apply(
      group.map((step, at) => {
        const look = looks[at];
        if (step.op !== 'put' || !look || !('startUs' in look)) return step;
        return { ...step, receipt: { atUs: look.startUs, num: 0, units: 1e9 } };
      }),
    );
  }),
];

const keys: readonly Mutant[] = [
  names('joins limiter and key with a colon', 'counts limiter and key apart', (limiter, key) => [
    '',
    `${limiter}:${key}`,
  ]),
  names('forgets the limiter', 'replays mixed groups', (_, key) => ['', key]),
  names('writes keys as UTF-8', 'counts hostile keys apart', (limiter, key) => [
    limiter,
    key.replace(/\p{Surrogate}/gu, '\ufffd'),
  ]),
  names('composes accents', 'counts hostile keys apart', (limiter, key) => [
    limiter,
    key.normalize('NFC'),
  ]),
  names('trims', 'counts hostile keys apart', (limiter, key) => [limiter, key.trim()]),
  names('ends keys at a NUL', 'counts hostile keys apart', (limiter, key) => [
    limiter,
    key.split('\0')[0] ?? '',
  ]),
  names('hashes only the start of long keys', 'counts hostile keys apart', (limiter, key) => [
    limiter,
    key.slice(0, 4096),
  ]),
  names('ignores case', 'counts hostile keys apart', (limiter, key) => [
    limiter,
    key.toLowerCase(),
  ]),
  names('ignores the case of limiters', 'counts limiter and key apart', (limiter, key) => [
    limiter.toLowerCase(),
    key,
  ]),
  names('trims limiters', 'counts limiter and key apart', (limiter, key) => [limiter.trim(), key]),
  names('cuts limiters to 63 characters', 'counts limiter and key apart', (limiter, key) => [
    limiter.slice(0, 63),
    key,
  ]),
  names('keeps keys as properties of an object', 'counts hostile keys apart', (limiter, key) => [
    limiter,
    key in {} ? 'inherited' : key,
  ]),
];

/** The rule with a longer window, or longer leases. */
function longer(rule: Rule, us: number): Rule {
  if ('leaseUs' in rule) return { ...rule, leaseUs: rule.leaseUs + us };
  return 'windowUs' in rule ? { ...rule, windowUs: rule.windowUs + us } : rule;
}

let nextName = 0;

const leases: readonly Mutant[] = [
  leaseSteps('holds leases a microsecond too long', 'frees a permit exactly', (step) => ({
    ...step,
    rule: longer(step.rule, 1),
  })),
  leaseSteps('frees leases a microsecond too soon', 'frees a permit exactly', (step) => ({
    ...step,
    rule: longer(step.rule, -1),
  })),
  leaseSteps('holds one lease too many', 'holds no more leases than the limit', (step) => ({
    ...step,
    rule: { ...step.rule, limit: step.rule.limit + 1, open: step.rule.limit + 1 } as Rule,
  })),
  leaseSteps('ignores the reserve', 'keeps the reserve', (step) => ({
    ...step,
    rule: { ...step.rule, open: step.rule.limit } as Rule,
  })),
  leaseSteps('refuses critical holders', 'counts critical holders', (step) => ({
    ...step,
    ...(step.lease && { lease: { ...step.lease, critical: false } }),
  })),
  leaseSteps('does not count critical holders', 'counts critical holders', (step) => ({
    ...step,
    op: step.op === 'take' && step.lease?.critical ? 'look' : step.op,
  })),
  leaseSteps('counts a renewal again', 'renews a lease without', (step) =>
    step.op === 'record' && step.lease
      ? { ...step, lease: { ...step.lease, id: `${step.lease.id} ${++nextName}` } }
      : step,
  ),
  leaseSteps('does not renew', 'renews a lease without', (step) => ({
    ...step,
    op: step.op === 'record' ? 'look' : step.op,
  })),
  leaseSteps('trims the ids of leases', 'tells leases apart', (step) => ({
    ...step,
    ...(step.lease && { lease: { ...step.lease, id: step.lease.id.trim() } }),
  })),
  leaseSteps('cuts the ids of leases to 32 characters', 'tells leases apart', (step) => ({
    ...step,
    ...(step.lease && { lease: { ...step.lease, id: step.lease.id.slice(0, 32) } }),
  })),
  mutant('frees a permit at each release', 'frees a permit once', (right, group) => {
    const answers = right.apply(group);
    return answers.map((answer, at) => {
      const spare = group[at]?.op === 'put' && 'critical' in answer && !answer.allowed;
      return spare ? { ...answer, allowed: true, used: Math.max(0, answer.used - 1) } : answer;
    });
  }),
];

const clocks: readonly Mutant[] = [
  clock('trusts a clock that was a year ahead', 'blocks nobody for a year', () => {
    let newest = 0;
    return (nowUs) => {
      newest = Math.max(newest, nowUs);
      return newest;
    };
  }),
  clock('decides in whole milliseconds', 'admits after exactly the promised wait', () => {
    return (nowUs) => nowUs - (nowUs % 1000);
  }),
  steps('expires one microsecond late', 'admits after exactly the promised wait', (step) => ({
    ...step,
    rule: longer(step.rule, 1),
  })),
  steps('expires one microsecond early', 'admits at most the limit in any window', (step) => ({
    ...step,
    rule: longer(step.rule, -1),
  })),
  steps('refills a little faster', 'admits at most burst', (step) => ({
    ...step,
    rule: { ...step.rule, limit: step.rule.limit + 1 },
  })),
];

/** Each algorithm is caught by the check of its traces. */
const limits = ALGORITHMS.map((algorithm) =>
  steps(`has room for one unit more (${algorithm})`, `replays ${algorithm} traces`, (step) => ({
    ...step,
    rule: { ...step.rule, limit: step.rule.limit + 1 },
  })),
);

export const mutants: readonly Mutant[] = [
  ...limits,
  ...refusals,
  ...groups,
  ...operations,
  ...keys,
  ...leases,
  ...clocks,
];
