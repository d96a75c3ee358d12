/** The oracle's groups: which steps are one question, and which groups have no meaning. */

import { SpillwayError, type Step } from '@spillway/core';
import type { Rule } from '@spillway/core/store';
import { sharesCount } from './counts.js';

/** A step and those that ask the same of the same count in the same group: one question for their summed cost. */
export interface MergedStep {
  readonly step: Step;
  readonly cost: bigint;
  readonly binding: boolean;
}

/** Whether two steps are about the same count. */
function isOneCount(a: Step, b: Step): boolean {
  return a.limiter === b.limiter && a.key === b.key && sharesCount(a.rule, b.rule);
}

/** Steps that renew permits or give them back name one each: they are done in order. */
function isInOrder({ op, rule }: Step): boolean {
  return rule.machine === 'leases' && op !== 'take';
}

function isSame(a: Step, b: Step): boolean {
  return a === b || (!isInOrder(a) && isOneCount(a, b));
}

/**
 * The questions of a group, each where it is first asked.
 *
 * @throws SpillwayError `SPW_GROUP_INVALID` if a count is named twice and the two cannot be one.
 */
export function mergedSteps(steps: readonly Step[]): MergedStep[] {
  for (const [at, step] of steps.entries()) {
    for (const other of steps.slice(0, at)) if (isOneCount(other, step)) checkPair(other, step);
  }
  const firsts = steps.filter((step, at) => steps.findIndex((other) => isSame(other, step)) === at);
  return firsts.map((step) => {
    const same = steps.filter((other) => isSame(other, step));
    const cost = same.reduce((sum, other) => sum + BigInt(other.cost), 0n);
    return { step, cost, binding: same.some((other) => other.binding) };
  });
}

/** Which of the questions of `steps` each step is part of. */
export function placesOf(steps: readonly Step[], questions: readonly MergedStep[]): number[] {
  return steps.map((step) => questions.findIndex((question) => isSame(question.step, step)));
}

function checkPair(a: Step, b: Step): void {
  if (isInOrder(a) && isInOrder(b)) return;
  const isOne = a.op === b.op && a.op !== 'put' && a.rule.machine !== 'leases';
  if (isOne && numbers(a.rule) === numbers(b.rule)) return;
  throw new SpillwayError(
    'SPW_GROUP_INVALID',
    `a group asks ${a.op} and ${b.op} of one count of ${a.limiter}, which cannot be one question`,
  );
}

function numbers(rule: Rule): string {
  return JSON.stringify(Object.entries(rule).sort());
}
