/** What every store does with a group of steps before it looks at any key. */

import type { Answer, Step } from './store.js';

/** A group without repeated keys, and where the answer to each step asked is found in it. */
export interface UniqueGroup {
  readonly steps: readonly Step[];
  /** For each step asked, the index of its merged step; undefined if nothing was merged. */
  readonly places?: readonly number[];
}

/**
 * Merges steps of the same op, limiter and key into one of the summed cost, so that a group cannot pass a limit by
 * naming a key twice.
 */
export function uniqueGroup(steps: readonly Step[]): UniqueGroup {
  if (!repeats(steps)) return { steps };
  const merged: Step[] = [];
  const places: number[] = [];
  const seen = new Map<string, number>();
  for (const step of steps) {
    // The length of the name keeps (a, b:c) and (a:b, c) apart.
    const id = `${step.op} ${step.limiter.length} ${step.limiter} ${step.key}`;
    const place = seen.get(id);
    if (place === undefined) {
      seen.set(id, merged.length);
      places.push(merged.length);
      merged.push(step);
    } else {
      const first = merged[place] as Step;
      const cost = Math.min(first.cost + step.cost, Number.MAX_SAFE_INTEGER);
      merged[place] = { ...first, cost, binding: first.binding || step.binding };
      places.push(place);
    }
  }
  return { steps: merged, places };
}

function repeats(steps: readonly Step[]): boolean {
  if (steps.length > 16) return true; // let the map find out
  for (let i = 1; i < steps.length; i += 1) {
    const step = steps[i] as Step;
    for (let j = 0; j < i; j += 1) {
      const other = steps[j] as Step;
      if (other.key === step.key && other.limiter === step.limiter && other.op === step.op) {
        return true;
      }
    }
  }
  return false;
}

/** The answers in the order in which the steps were asked. */
export function spread(group: UniqueGroup, answers: readonly Answer[]): readonly Answer[] {
  return group.places ? group.places.map((place) => answers[place] as Answer) : answers;
}
