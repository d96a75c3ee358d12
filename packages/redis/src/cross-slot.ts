/** A group whose keys lie in several hash slots: decided slot by slot, at once, and given back where another refuses. */

import { type Answer, receiptFrom, type Step } from '@spillway/core';

/** A part of the group, all in one slot, that is asked as a group of its own. */
export interface Part {
  readonly steps: readonly Step[];
  readonly names: readonly string[];
  readonly slot: number;
  /** The place of each step in the whole group. */
  readonly places: readonly number[];
}

type Ask = (
  steps: readonly Step[],
  names: readonly string[],
  slot: number,
  /** Giving back has no deadline. */
  always?: boolean,
) => Promise<readonly Answer[]>;

/** Sorts the steps by slot. */
export function partsOf(
  steps: readonly Step[],
  names: readonly string[],
  slots: readonly number[],
): Part[] {
  const parts = new Map<
    number,
    { steps: Step[]; names: string[]; slot: number; places: number[] }
  >();
  for (const [place, step] of steps.entries()) {
    const slot = slots[place] as number;
    const part = parts.get(slot) ?? { steps: [], names: [], slot, places: [] };
    parts.set(slot, part);
    part.steps.push(step);
    part.names.push(names[place] as string);
    part.places.push(place);
  }
  return [...parts.values()];
}

/**
 * Asks all parts at once. If one refuses or fails, what the others took is put back before the answer is given. In
 * between, others may be refused for it: never too much is admitted, for a moment too little.
 */
export async function askParts(parts: readonly Part[], ask: Ask): Promise<readonly Answer[]> {
  const results = await Promise.allSettled(
    parts.map(({ steps, names, slot }) => ask(steps, names, slot)),
  );
  const answers: Answer[] = [];
  let refused = false;
  for (const [at, { steps, places }] of parts.entries()) {
    const result = results[at] as PromiseSettledResult<readonly Answer[]>;
    if (result.status === 'rejected') refused = true;
    else {
      for (const [i, answer] of result.value.entries()) answers[places[i] as number] = answer;
      if (refuses(steps, result.value)) refused = true;
    }
  }
  if (refused) await Promise.all(parts.map((part) => putBack(part, answers, ask)));
  const failure = results.find((result) => result.status === 'rejected');
  if (failure) throw failure.reason;
  // As this group took for a moment and put back, others may have: what refused it may be gone.
  return answers.map((answer) => (answer.allowed ? answer : { ...answer, provisional: true }));
}

function refuses(steps: readonly Step[], answers: readonly Answer[]): boolean {
  return steps.some(({ op, binding }, i) => op === 'take' && binding && !answers[i]?.allowed);
}

/** Gives back what a part took, and puts the state after that into `answers`. */
async function putBack(part: Part, answers: Answer[], ask: Ask): Promise<void> {
  const own = part.places.map((place) => answers[place] as Answer);
  if (own[0] === undefined || refuses(part.steps, own)) return;
  const puts: Step[] = [];
  const names: string[] = [];
  const places: number[] = [];
  for (const [i, step] of part.steps.entries()) {
    const answer = own[i] as Answer;
    if (step.op !== 'take' || step.cost === 0 || !answer.allowed) continue;
    puts.push({ ...step, op: 'put', receipt: receiptFrom(step.rule, answer) });
    names.push(part.names[i] as string);
    places.push(part.places[i] as number);
  }
  if (puts.length === 0) return;
  try {
    const after = await ask(puts, names, part.slot, true);
    for (const [i, answer] of after.entries()) {
      answers[places[i] as number] = { ...answer, allowed: true };
    }
  } catch {
    // Stays charged: too little is admitted, never too much.
  }
}
