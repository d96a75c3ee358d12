/** The oracle's groups: which steps are merged into one, and which groups are not valid. */

import { SpillwayError, type Step } from '@spillway/core';
import type { Rule } from '@spillway/core/store';
import { sharesCount } from './counts.js';

/** The steps of a group that do the same to the same count, merged into one step of their summed cost. */
export interface MergedStep {
  readonly step: Step;
  readonly cost: bigint;
  readonly binding: boolean;
}

/** Whether two steps are about the same count. */
function isOneCount(a: Step, b: Step): boolean {
  return a.limiter === b.limiter && a.key === b.key && sharesCount(a.rule, b.rule);
}

/** Steps that renew permits or give them back name one permit each: they are not merged, and done in order. */
function isInOrder({ op, rule }: Step): boolean {
  return rule.machine === 'leases' && op !== 'take';
}

function isSame(a: Step, b: Step): boolean {
  return a === b || (!isInOrder(a) && isOneCount(a, b));
}

/**
 * The merged steps of a group, in the order in which each count first appears.
 *
 * @throws SpillwayError `SPW_GROUP_INVALID` if a count is named twice and the two steps cannot be merged
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

/** For each of `steps`, the index of its merged step. */
export function placesOf(steps: readonly Step[], merged: readonly MergedStep[]): number[] {
  return steps.map((step) => merged.findIndex((one) => isSame(one.step, step)));
}

function checkPair(a: Step, b: Step): void {
  if (isInOrder(a) && isInOrder(b)) return;
  const isOne = a.op === b.op && a.op !== 'put' && a.rule.machine !== 'leases';
  if (isOne && numbers(a.rule) === numbers(b.rule)) return;
  throw new SpillwayError(
    'SPW_GROUP_INVALID',
    `a group asks ${a.op} and ${b.op} of one count of ${a.limiter}, which cannot be merged`,
  );
}

function numbers(rule: Rule): string {
  return JSON.stringify(Object.entries(rule).sort());
}
