/** Alternatives of `consumeFirst`: the steps that stand for them, and the answer that comes of it. */

import { mustBe, SpillwayError, show } from '../base/errors.js';
import type { Answer } from '../contract/answer.js';
import { MAX_STEPS, tooLarge } from '../contract/group-size.js';
import type { Step } from '../contract/store.js';
import { type Asked, isRefused, passes } from './asked.js';
import type { LimitCosts } from './limiters-options.js';
import type { NamedLimits } from './named-limits.js';

/** Several alternatives as one group of steps. */
interface AlternativesGroup {
  readonly steps: readonly Step[];
  /** Of each alternative that is asked: its limits, with the place of each step in the group. */
  readonly alternatives: readonly (readonly Placed[])[];
  /** Which each of those is in the list that was given. */
  readonly places: readonly number[];
  /** Those that an operator refuses. */
  readonly refused: readonly (readonly Asked[])[];
}

export interface Placed extends Asked {
  readonly place: number;
}

/**
 * A limit whose key is the same in all alternatives is a common step; the others stand in the branch of their
 * alternative.
 *
 * @throws SpillwayError `SPW_ALTERNATIVES_INVALID`, `SPW_GROUP_TOO_LARGE`, `SPW_KEY_INVALID`, `SPW_COST_INVALID`
 */
export function groupOf(
  limits: NamedLimits,
  given: unknown,
  options: LimitCosts<string> | undefined,
): AlternativesGroup {
  if (!Array.isArray(given) || given.length === 0) {
    throw mustBe('alternatives', 'a list of at least one', given, 'SPW_ALTERNATIVES_INVALID');
  }
  // Each needs a step of its own, so the list is not worth reading.
  if (given.length > MAX_STEPS) throw tooLarge();
  const names = limits.namesIn(given[0]);
  const costOf = limits.costs(options, names);
  // Not `given.map`, which leaves out what a sparse list lacks.
  const asked = Array.from(given, (keys: unknown) => limits.asked('take', keys, costOf));
  for (const [at, alternative] of asked.entries()) checkNames(alternative, names, at);
  const common = new Set(names.filter((name) => isCommon(name, asked)));
  const open = asked.filter((alternative) => !alternative.some(isRefused));
  const steps: Step[] = [];
  const placeOf = (step: Step): number => steps.push(step) - 1;
  const commonPlaces = new Map<string, number>();
  const alternatives = open.map((alternative, at) =>
    alternative.map((one): Placed => {
      const { limit, step } = one;
      if (!common.has(limit.name)) {
        const own = { ...step, branch: at + 1 };
        return { ...one, step: own, place: placeOf(own) };
      }
      const place = commonPlaces.get(limit.name) ?? placeOf(step);
      commonPlaces.set(limit.name, place);
      return { ...one, place };
    }),
  );
  const places = open.map((alternative) => asked.indexOf(alternative));
  const refused = asked.filter((alternative) => !open.includes(alternative));
  return { steps, alternatives, places, refused };
}

/** Which of the alternatives that were asked was charged, from 0; -1 if none was. */
export function chargedOf({ alternatives }: AlternativesGroup, answers: readonly Answer[]): number {
  const branch = answers[0]?.branch;
  if (branch !== undefined) return branch - 1;
  // Without branches, or of a store that failed: the first that is let pass.
  return alternatives.findIndex((own) =>
    own.every((one) => passes(one, answers[one.place] as Answer)),
  );
}

function isCommon(name: string, asked: readonly (readonly Asked[])[]): boolean {
  const keys = asked.map((one) => one.find(({ limit }) => limit.name === name)?.step.key);
  const different = new Set(keys);
  if (different.size === 1) return true;
  if (different.size === keys.length) return false;
  const twice = keys.find((key, at) => keys.indexOf(key) !== at);
  throw new SpillwayError(
    'SPW_ALTERNATIVES_INVALID',
    `a key must be the same in all alternatives or another in each: ${name} has ${show(twice)} in some of them`,
  );
}

function checkNames(asked: readonly Asked[], names: readonly string[], at: number): void {
  const own = asked.map(({ limit }) => limit.name);
  if (own.length === names.length && own.every((name) => names.includes(name))) return;
  throw new SpillwayError(
    'SPW_ALTERNATIVES_INVALID',
    `all alternatives must name the same limits: the first names ${names.join(', ')}, number ${at + 1} ${own.join(', ')}`,
  );
}
