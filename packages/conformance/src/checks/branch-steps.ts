/** Steps and counts with which the checks of branches are made. */

import type { Step } from '@spillway/core';
import { makeLeasesRule, type Rule } from '@spillway/core/store';
import type { Subject } from '../oracle.js';
import { expectEqual, lease, type Probe, receiptOf, type Seen, step } from '../probe.js';
import { ALGORITHMS, rateRule } from '../rules.js';

const MINUTE_US = 60_000_000;

/** Three units of each algorithm, and three permits. */
export const RULES_OF_THREE: readonly Rule[] = [
  ...ALGORITHMS.map((algorithm) => rateRule(algorithm, 3, MINUTE_US)),
  makeLeasesRule(3, MINUTE_US),
];

/** A take of one unit, or of a permit; without `branch` it is common. */
export function take(subject: Subject, branch?: number, binding = true): Step {
  const extras = branch === undefined ? { binding } : { binding, branch };
  return step('take', subject, 1, { ...extras, ...lease(`of branch ${branch}`) });
}

export function shadowTake(subject: Subject, branch?: number): Step {
  return take(subject, branch, false);
}

/** The step that gives back what `taken` was granted. */
export function putOf(taken: Step, granted: Seen | undefined): Step {
  if (!granted) throw new Error('a grant has an answer');
  return { ...taken, op: 'put', receipt: receiptOf(granted.answer, taken.cost) };
}

/** Three counts that no check has used. */
export function three(probe: Probe, rule: Rule): [Subject, Subject, Subject] {
  return [probe.fresh(rule), probe.fresh(rule), probe.fresh(rule)];
}

/** A count of which all three units, or permits, are taken. */
export async function full(probe: Probe, rule: Rule): Promise<Subject> {
  const subject = probe.fresh(rule);
  for (const unit of [1, 2, 3]) await probe.ask('take', subject, 1, lease(unit));
  return subject;
}

export async function expectLeft(
  probe: Probe,
  what: string,
  units: number,
  subject: Subject,
): Promise<void> {
  expectEqual(`${what}: left`, units, (await probe.ask('look', subject)).remaining);
}
