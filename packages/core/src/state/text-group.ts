/** A group of steps, decided on the texts of its counts. */

import { groupPasses } from '../algorithms/group.js';
import type { StoredCount } from '../algorithms/stored-count.js';
import { readCount, stateOf } from '../algorithms/texts.js';
import type { Answer } from '../contract/ask.js';
import type { Step } from '../contract/store.js';
import type { StateChanges } from './backend.js';

/** A step with the name of its count. */
export interface NamedStep {
  readonly step: Step;
  readonly name: string;
  /** The further steps of a reset: one for each other count of its limiter. */
  readonly others: readonly NamedStep[];
}

interface Decided {
  readonly answers: readonly Answer[];
  readonly changes: StateChanges;
}

type Texts = ReadonlyMap<string, string | undefined>;

export class TextGroup {
  /** Of all counts that the group reads or writes: each once, in ascending order. */
  readonly names: readonly string[];
  private readonly steps: readonly NamedStep[];

  /** @param steps of one group, no count twice */
  constructor(steps: readonly NamedStep[]) {
    const names = steps.flatMap(({ name, others }) => [name, ...others.map((other) => other.name)]);
    this.names = [...new Set(names)].sort();
    this.steps = steps;
  }

  /**
   * What is answered to the steps, and what is to be stored. May be asked any number of times.
   *
   * @throws SpillwayError `SPW_STORE_ERROR` if a text is not one of ours
   */
  decide(texts: readonly (string | undefined)[], nowUs: number): Decided {
    const stored = new Map(this.names.map((name, place) => [name, texts[place]]));
    const counts = new Map<string, StoredCount>();
    // A count is read once and changed in place. It stays right to judge a take first and to charge it then: a take
    // that does not charge changes only what charging changes too.
    const perform = ({ step, name }: NamedStep, charge: boolean): Answer => {
      const count = counts.get(name) ?? readCount(step, stored.get(name));
      counts.set(name, count);
      return count.step(step, nowUs, charge);
    };
    const { steps } = this;
    const at = (place: number) => steps[place] as NamedStep;
    const group = steps.map(({ step }) => step);
    const passes = groupPasses(group, (_, place) => perform(at(place), false).allowed);
    const answers = steps.map((named) => {
      for (const other of named.others) perform(other, true);
      return perform(named, passes);
    });
    return { answers, changes: changesOf(counts, stored, nowUs) };
  }
}

/** Only what differs: a count that was never used and is reset needs no writing. */
function changesOf(
  counts: ReadonlyMap<string, StoredCount>,
  stored: Texts,
  nowUs: number,
): StateChanges {
  const changes = new Map<string, ReturnType<typeof stateOf>>();
  for (const [name, count] of counts) {
    if (!count.changed) continue;
    const state = stateOf(count, nowUs);
    if (state?.text !== stored.get(name)) changes.set(name, state);
  }
  return changes;
}
