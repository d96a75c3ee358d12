import { SpillwayError, show } from '../base/errors.js';
import { type Answer, countOf, sameRule } from '../contract/rule.js';
import type { Step } from '../contract/store.js';

/** The merged steps of a group, and where each step of the caller is among them. */
export interface UniqueGroup {
  readonly steps: readonly Step[];
  /** For each step of the caller, the index of its merged step. If undefined, nothing was merged. */
  readonly places?: readonly number[];
}

/**
 * Merges the steps on one count (see {@link countOf}) into one step with the summed cost (distinct items: the items of
 * both). Otherwise each of two steps could fit the limit, although their sum does not. Steps of permits and claims are
 * never merged. If none of them is a `take`, several such steps on one count are applied in order.
 *
 * @throws SpillwayError `SPW_GROUP_INVALID` if
 *
 * - steps that must be merged differ in operation or rule, or are two `put` or two `hold` steps,
 * - a take of a permit or claim is not the only step on its count,
 * - a `hold` has a rule other than `queue` or `lock`, or
 * - a step with a `claims` rule is invalid, or a step with a claim or the operation `done` has another rule.
 */
export function uniqueGroup(steps: readonly Step[]): UniqueGroup {
  for (const step of steps) checkStep(step);
  if (!repeats(steps)) return { steps };
  const merged: Step[] = [];
  const places: number[] = [];
  const seen = new Map<string, number>();
  for (const step of steps) {
    // The lengths are included, so different counts never have the same id.
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

function staysApart(a: Step, b: Step): boolean {
  return a.rule.logic.hasIds === true && a.op !== 'take' && b.op !== 'take';
}

function merge(first: Step, step: Step): Step {
  const { op, rule, limiter } = step;
  const differ = first.op !== op || !sameRule(first.rule, rule);
  if (differ || op === 'put' || op === 'hold' || rule.logic.hasIds) {
    throw new SpillwayError(
      'SPW_GROUP_INVALID',
      `a group names one count of limiter ${show(limiter)} twice, ${
        differ ? 'with different operations or rules' : `and two steps to ${op} cannot be merged`
      }: send two groups`,
    );
  }
  const cost = Math.min(first.cost + step.cost, Number.MAX_SAFE_INTEGER);
  const owed = (first.owed ?? 0) + (step.owed ?? 0);
  const binding = first.binding || step.binding;
  return { ...first, cost, owed, binding, ...rule.logic.join?.(first, step) };
}

function repeats(steps: readonly Step[]): boolean {
  if (steps.length > 16) return true; // for more steps, the map is faster
  for (let i = 1; i < steps.length; i += 1) {
    const step = steps[i] as Step;
    for (let j = 0; j < i; j += 1) {
      const other = steps[j] as Step;
      const isSameKey = other.key === step.key && other.limiter === step.limiter;
      if (isSameKey && (other.rule === step.rule || countOf(other) === countOf(step))) return true;
    }
  }
  return false;
}

function checkStep(step: Step): void {
  const { op, limiter, rule, claim } = step;
  rule.logic?.checkStep?.(step);
  const invalid = (why: string) =>
    new SpillwayError('SPW_GROUP_INVALID', `step ${show(op)} of limiter ${show(limiter)} ${why}`);
  if (op === 'hold' && rule.machine !== 'queue' && rule.machine !== 'lock') {
    throw invalid('needs a rule of makeShaperRule or makeLockRule');
  }
  if ((op === 'done' || claim !== undefined) && rule.machine !== 'claims') {
    throw invalid('with a claim needs a rule of makeClaimsRule');
  }
}

/**
 * Whether every binding `take` of a group passes. Otherwise a store charges no `take`, not even one that passes.
 *
 * @param passes whether one step passes, given the state before the group; called only for binding takes
 */
export function groupPasses(
  steps: readonly Step[],
  passes: (step: Step, place: number) => boolean,
): boolean {
  return steps.every((step, place) => step.op !== 'take' || !step.binding || passes(step, place));
}

/**
 * Returns the steps of a group. Takes with {@link Step.together} get a common start, which the `logic` of their rule
 * calculates.
 *
 * @param judge answers a step on the state before the group, without charging
 * @example
 * ```ts run
 * import { groupPasses, makeShaperRule, startTogether, type Step, stepText } from '@spillway/core/store';
 *
 * const take = { op: 'take', key: 'ada', binding: true, together: true } as const;
 * const group: Step[] = [
 *   { ...take, limiter: 'requests', rule: makeShaperRule(4, 1_000_000, 1, 30_000_000), cost: 1 },
 *   { ...take, limiter: 'tokens', rule: makeShaperRule(100, 1_000_000, 50, 30_000_000), cost: 20 },
 * ];
 * const judge = (step: Step) => stepText(undefined, step, 1_767_225_600_000_000, false).answer;
 * const steps = startTogether(group, judge);
 * groupPasses(steps, (step) => judge(step).allowed); // true
 * ```
 */
export function startTogether(
  steps: readonly Step[],
  judge: (step: Step, place: number) => Answer,
): readonly Step[] {
  const first = steps.find(({ together }) => together);
  return first?.rule.logic.startTogether?.(steps, judge) ?? steps;
}

/** The answers in the order of the caller's steps. */
export function spread({ places }: UniqueGroup, answers: readonly Answer[]): readonly Answer[] {
  return places ? places.map((place) => answers[place] as Answer) : answers;
}

/** The most steps of one group. Redis is single-threaded, and this many steps block it for about 10 ms. */
export const MAX_STEPS = 1_000;

const FREE_STEPS = 128;

const EXTRA_STEPS = 512;

/** The error for a group of more than {@link MAX_STEPS} steps. Such a group is not sent. */
export function tooLarge(): SpillwayError {
  return new SpillwayError(
    'SPW_GROUP_TOO_LARGE',
    `one call can have at most ${MAX_STEPS} keys or limits: split it into several calls`,
  );
}

/** The timeout of a group: `timeoutUs` for the first 128 steps, and `timeoutUs` more for each further 512 or fewer. */
export function timeoutOf(steps: number, timeoutUs: number): number {
  if (steps <= FREE_STEPS) return timeoutUs;
  return timeoutUs * (1 + Math.ceil((steps - FREE_STEPS) / EXTRA_STEPS));
}
