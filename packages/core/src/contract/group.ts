/** What every store does with a group of steps before it reads any key. */

import { SpillwayError, show } from '../base/errors.js';
import type { Answer } from './answer.js';
import { checkClaim, concernsClaims } from './claim.js';
import { countOf, sameRule } from './rule.js';
import type { Step } from './store.js';

/** A group in which no count comes twice, and where each step of the caller finds its answer. */
export interface UniqueGroup {
  readonly steps: readonly Step[];
  /** For each step of the caller the index of its merged step; undefined if nothing was merged. */
  readonly places?: readonly number[];
  /** Whether some steps have a branch. */
  readonly hasBranches: boolean;
}

/**
 * Merges the steps of one count (see {@link countOf}) into one step of the summed cost. So a group that names a key
 * twice cannot pass the limit twice. Permits and claims are never merged: steps that renew them or give them back stay
 * separate and are done in order.
 *
 * @throws SpillwayError `SPW_GROUP_INVALID` if steps of one count differ in operation, numbers or branch, a `put` names
 * or `hold` names a count twice, a take of a permit or claim is not the only step of its count, a branch is not a whole
 * number from 1 or not of a take, a `hold` is of a rule that does not wait, or a claim is not what `checkClaim`
 * wants.
 */
export function uniqueGroup(steps: readonly Step[]): UniqueGroup {
  const hasBranches = checkSteps(steps);
  if (!repeats(steps)) return { steps, hasBranches };
  const merged: Step[] = [];
  const places: number[] = [];
  const seen = new Map<string, number>();
  for (const step of steps) {
    // The lengths keep (a, b:c) and (a:b, c) apart.
    const code = countOf(step);
    const id = `${step.limiter.length} ${code.length} ${step.limiter}${code}${step.key}`;
    const place = seen.get(id);
    if (place === undefined || staysApart(merged[place] as Step, step)) {
      if (place === undefined) seen.set(id, merged.length);
      places.push(merged.length);
      merged.push(step);
    } else {
      merged[place] = merge(merged[place] as Step, step);
      places.push(place);
    }
  }
  return { steps: merged, places, hasBranches };
}

/** Two steps of one count that name a permit or a claim each and do not take one. */
function staysApart(a: Step, b: Step): boolean {
  return !a.rule.logic.merges && a.op !== 'take' && b.op !== 'take';
}

function merge(first: Step, step: Step): Step {
  const { op, rule, limiter } = step;
  const differ = first.op !== op || first.branch !== step.branch || !sameRule(first.rule, rule);
  if (differ || op === 'put' || op === 'hold' || !rule.logic.merges) {
    throw new SpillwayError(
      'SPW_GROUP_INVALID',
      `a group names one count of limiter ${show(limiter)} twice and ${
        differ ? 'asks different things of it' : `cannot ${op} both as one`
      }: ask in two groups`,
    );
  }
  const cost = Math.min(first.cost + step.cost, Number.MAX_SAFE_INTEGER);
  return { ...first, cost, binding: first.binding || step.binding };
}

function repeats(steps: readonly Step[]): boolean {
  if (steps.length > 16) return true; // faster with the map
  for (let i = 1; i < steps.length; i += 1) {
    const step = steps[i] as Step;
    for (let j = 0; j < i; j += 1) {
      const other = steps[j] as Step;
      if (other.key === step.key && other.limiter === step.limiter && sameCount(other, step)) {
        return true;
      }
    }
  }
  return false;
}

function sameCount(a: Step, b: Step): boolean {
  return a.rule === b.rule || countOf(a) === countOf(b);
}

/** Whether some steps have a branch. */
function checkSteps(steps: readonly Step[]): boolean {
  let some = false;
  for (const step of steps) {
    const { branch, op, limiter, rule } = step;
    if (concernsClaims(step)) checkClaim(step);
    if (op === 'hold' && rule.machine !== 'queue') {
      throw new SpillwayError(
        'SPW_GROUP_INVALID',
        `a group asks to hold limiter ${show(limiter)}, whose rule lets nobody wait`,
      );
    }
    if (branch === undefined) continue;
    some = true;
    if (op === 'take' && Number.isSafeInteger(branch) && branch >= 1) continue;
    throw new SpillwayError(
      'SPW_GROUP_INVALID',
      `a group asks to ${op} in branch ${show(branch)} of limiter ${show(limiter)}: only takes have branches, from 1`,
    );
  }
  return some;
}

/** The group is refused: no `take` is charged. */
export const REFUSED = -1;

/**
 * What becomes of the takes of a group: the branch that is charged, 0 in a group without branches, or {@link REFUSED}.
 *
 * @param passes whether a step passes by itself, on the state before the group; asked of binding takes only
 */
export function chargedBranch(
  { steps, hasBranches }: UniqueGroup,
  passes: (step: Step, place: number) => boolean,
): number {
  let closed: Set<number> | undefined;
  for (const [place, step] of steps.entries()) {
    if (step.op !== 'take' || !step.binding || passes(step, place)) continue;
    if (step.branch === undefined) return REFUSED;
    closed = (closed ?? new Set()).add(step.branch);
  }
  if (!hasBranches) return 0;
  let first = Infinity;
  for (const { branch = Infinity } of steps) {
    if (branch < first && !closed?.has(branch)) first = branch;
  }
  return first === Infinity ? REFUSED : first;
}

/** Whether a step may charge, in a group of which {@link chargedBranch} has answered `charged`. */
export function isCharged({ branch }: Step, charged: number): boolean {
  return charged !== REFUSED && (branch === undefined || branch === charged);
}

/**
 * The answers in the order of the caller's steps. In a group with branches, they name the one that was charged.
 *
 * @param charged what the store tried to charge, if a charge may find less room than {@link chargedBranch} did: a group
 * of which the answers say another branch is refused
 */
export function spread(
  group: UniqueGroup,
  answers: readonly Answer[],
  charged?: number,
): readonly Answer[] {
  const { places, hasBranches } = group;
  const all = hasBranches ? withBranch(group, answers, charged) : answers;
  return places ? places.map((place) => all[place] as Answer) : all;
}

function withBranch(
  group: UniqueGroup,
  answers: readonly Answer[],
  charged: number | undefined,
): readonly Answer[] {
  const told = chargedBranch(group, (_, place) => answers[place]?.allowed === true);
  const branch = told === REFUSED || told !== (charged ?? told) ? 0 : told;
  return answers.map((answer) => ({ ...answer, branch }));
}
