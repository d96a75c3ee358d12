/** What every store does with a group of steps before it reads any key: limits its size, and merges steps. */

import { SpillwayError, show } from '../base/errors.js';
import type { Answer } from '../contract/ask.js';
import { countOf, sameRule } from '../contract/rule.js';
import type { Step } from '../contract/store.js';

/** A group in which no count comes twice, and where each step of the caller finds its answer. */
export interface UniqueGroup {
  readonly steps: readonly Step[];
  /** For each step of the caller the index of its merged step; undefined if nothing was merged. */
  readonly places?: readonly number[];
}

/**
 * Merges the steps of one count (see {@link countOf}) into one step of the summed cost. So a group that names a key
 * twice cannot pass the limit twice. Permits and claims are never merged: steps that renew them or give them back stay
 * separate and are done in order.
 *
 * @throws SpillwayError `SPW_GROUP_INVALID` if steps of one count differ in operation or numbers, a `put` or a `hold`
 * names a count twice, a take of a permit or claim is not the only step of its count, a `hold` is of a rule that does
 * not wait, or a step asks for a claim wrongly.
 */
export function uniqueGroup(steps: readonly Step[]): UniqueGroup {
  for (const step of steps) checkStep(step);
  if (!repeats(steps)) return { steps };
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
  return { steps: merged, places };
}

/** Two steps of one count that name a permit or a claim each and do not take one. */
function staysApart(a: Step, b: Step): boolean {
  return !a.rule.logic.merges && a.op !== 'take' && b.op !== 'take';
}

function merge(first: Step, step: Step): Step {
  const { op, rule, limiter } = step;
  const differ = first.op !== op || !sameRule(first.rule, rule);
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

function checkStep(step: Step): void {
  const { op, limiter, rule, claim } = step;
  rule.logic?.checkStep?.(step);
  const invalid = (why: string) =>
    new SpillwayError('SPW_GROUP_INVALID', `a group asks to ${op} limiter ${show(limiter)}${why}`);
  if (op === 'hold' && rule.machine !== 'queue') throw invalid(', whose rule lets nobody wait');
  if ((op === 'done' || claim !== undefined) && rule.machine !== 'claims') {
    throw invalid(' with a claim, but its rule is about something else');
  }
}

/**
 * Whether the takes of a group are charged: those that pass, if every binding one does.
 *
 * @param passes whether a step passes by itself, on the state before the group; asked of binding takes only
 */
export function groupPasses(
  steps: readonly Step[],
  passes: (step: Step, place: number) => boolean,
): boolean {
  return steps.every((step, place) => step.op !== 'take' || !step.binding || passes(step, place));
}

/** The answers in the order of the caller's steps. */
export function spread({ places }: UniqueGroup, answers: readonly Answer[]): readonly Answer[] {
  return places ? places.map((place) => answers[place] as Answer) : answers;
}

/** The most steps of one group: Redis does one thing at a time, and so many steps take it some 10 ms. */
export const MAX_STEPS = 1_000;

/** Up to so many steps have the deadline of one step. */
const FREE_STEPS = 128;

/** Each further block of so many steps adds that time once more. */
const EXTRA_STEPS = 512;

/** The error for a group of more than {@link MAX_STEPS} steps; such a group is not sent. */
export function tooLarge(): SpillwayError {
  return new SpillwayError(
    'SPW_GROUP_TOO_LARGE',
    `one call may ask for at most ${MAX_STEPS} keys or limits: ask in several calls`,
  );
}

/** How long to wait for a group of `steps`, where one step may take `timeoutUs`. */
export function timeoutOf(steps: number, timeoutUs: number): number {
  if (steps <= FREE_STEPS) return timeoutUs;
  return timeoutUs * (1 + Math.ceil((steps - FREE_STEPS) / EXTRA_STEPS));
}
