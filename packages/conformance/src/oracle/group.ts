import { SpillwayError, type Step } from '@spillway/core';
import type { CalendarRule, Rule } from '@spillway/core/store';
import { isCount } from './counts.js';

export interface MergedStep {
  readonly step: Step;
  readonly cost: bigint;
  /** Units that are charged on top of the cost, even if the limit has no room for them. */
  readonly owed: bigint;
  readonly binding: boolean;
  readonly together: boolean;
}

function isOneCount(a: Step, b: Step): boolean {
  return a.limiter === b.limiter && a.key === b.key && isCount(a, b);
}

/** Whether a step of this rule names a permit or a claim. Such steps are never merged. */
function names(rule: Rule): boolean {
  return rule.machine === 'leases' || rule.machine === 'claims';
}

/**
 * Whether a step names a permit or claim without taking it, for example to release it. Such steps act separately and in
 * order.
 */
function isInOrder({ op, rule }: Step): boolean {
  return names(rule) && op !== 'take';
}

function isSame(a: Step, b: Step): boolean {
  return a === b || (!isInOrder(a) && isOneCount(a, b));
}

/**
 * The merged steps of a group, in the order in which each count first appears.
 *
 * @throws SpillwayError `SPW_GROUP_INVALID` if two steps on one count can't be merged, if a claim is missing,
 * invalid or not allowed, or if the rule of a `hold` has no penalty and is not a shaper's
 */
export function mergedSteps(steps: readonly Step[]): MergedStep[] {
  for (const step of steps) checkStep(step);
  for (const [at, step] of steps.entries()) {
    for (const other of steps.slice(0, at)) if (isOneCount(other, step)) checkPair(other, step);
  }
  const firsts = steps.filter((step, at) => steps.findIndex((other) => isSame(other, step)) === at);
  return firsts.map((step) => {
    const same = steps.filter((other) => isSame(other, step));
    const items = same.length > 1 && step.items && unionOf(same);
    const cost = items
      ? BigInt(items.length)
      : same.reduce((sum, other) => sum + BigInt(other.cost), 0n);
    const owed = same.reduce((sum, other) => sum + BigInt(other.owed ?? 0), 0n);
    const binding = same.some((other) => other.binding);
    const isTogether = step.op === 'take' && binding && cost > 0n;
    const together = isTogether && step.together === true;
    return { step: items ? { ...step, items } : step, cost, owed, binding, together };
  });
}

function unionOf(steps: readonly Step[]): string[] {
  return [...new Set(steps.flatMap(({ items = [] }) => items))];
}

export function placesOf(steps: readonly Step[], merged: readonly MergedStep[]): number[] {
  return steps.map((step) => merged.findIndex((one) => isSame(one.step, step)));
}

const OWNER = /^[A-Za-z0-9_-]{16}$/;
const PRINTABLE = /^[ -~]*$/;

function faultOf({ op, rule, cost, claim, onStoreError }: Step): string | undefined {
  if (rule.machine !== 'claims') return claim || op === 'done' ? 'no rule of claims' : undefined;
  if (typeof onStoreError === 'object') return 'another rule in its place';
  if (!claim) return op === 'reset' ? undefined : 'no claim';
  if (typeof claim.id !== 'string') return 'no id';
  const isNobody = claim.owner === '' && (op === 'look' || op === 'reset');
  if (!isNobody && !OWNER.test(claim.owner)) return 'no owner';
  const { note = '' } = claim;
  if (note.length > 256 || !PRINTABLE.test(note)) return 'no note';
  return cost === 1 || op === 'reset' ? undefined : 'not one claim';
}

function checkStep(step: Step): void {
  const { op, limiter, rule } = step;
  const fault = faultOf(step);
  if (fault) {
    throw new SpillwayError('SPW_GROUP_INVALID', `invalid ${op} of ${limiter}: ${fault}`);
  }
  if (op === 'hold' && rule.machine !== 'queue' && rule.machine !== 'lock') {
    throw new SpillwayError('SPW_GROUP_INVALID', `invalid hold of ${limiter}: not a shaper`);
  }
}

function checkPair(a: Step, b: Step): void {
  if (isInOrder(a) && isInOrder(b)) return;
  const isOne = a.op === b.op && a.op !== 'put' && a.op !== 'hold' && !names(a.rule);
  if (isOne && numbers(a.rule) === numbers(b.rule)) return;
  throw new SpillwayError(
    'SPW_GROUP_INVALID',
    `${a.op} and ${b.op} on one count of ${a.limiter} cannot be merged`,
  );
}

function numbers(rule: Rule): string {
  const { calendar } = rule as Partial<CalendarRule>;
  return JSON.stringify(Object.entries({ ...rule, calendar: calendar?.name }).sort());
}
