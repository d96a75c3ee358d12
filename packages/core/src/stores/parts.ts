/** The parts of a group whose steps lie in parts of a store that are asked apart, such as shards. */

import { groupPasses } from '../algorithms/group.js';
import type { Answer } from '../contract/ask.js';
import type { Step } from '../contract/store.js';

/** The steps of a group that are asked together. */
export interface Part<Name> {
  /** What they have in common, such as a shard or a hash slot. */
  readonly name: Name;
  readonly steps: readonly Step[];
  /** The place of each step in the whole group. */
  readonly places: readonly number[];
}

/** Sorts the steps of a group into parts. */
export function partsOf<Name>(
  steps: readonly Step[],
  nameOf: (step: Step, place: number) => Name,
): Part<Name>[] {
  const parts = new Map<Name, { name: Name; steps: Step[]; places: number[] }>();
  for (const [place, step] of steps.entries()) {
    const name = nameOf(step, place);
    const part = parts.get(name) ?? { name, steps: [], places: [] };
    parts.set(name, part);
    part.steps.push(step);
    part.places.push(place);
  }
  return [...parts.values()];
}

/** The same part, in which no step takes anything. */
export function asLook<Name>(part: Part<Name>): Part<Name> {
  const lookFor = (step: Step): Step => (step.op === 'take' ? { ...step, op: 'look' } : step);
  return { ...part, steps: part.steps.map(lookFor) };
}

/** Puts the answers of a part where the whole group has its steps. */
export function place<Name>(part: Part<Name>, own: readonly Answer[], answers: Answer[]): void {
  for (const [i, at] of part.places.entries()) answers[at] = own[i] as Answer;
}

/** Whether what was answered refuses the group. */
export function refuses(steps: readonly Step[], answers: readonly Answer[]): boolean {
  return !groupPasses(steps, (_, place) => answers[place]?.allowed === true);
}
