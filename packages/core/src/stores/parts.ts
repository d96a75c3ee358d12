/**
 * A group whose steps lie in parts of a store that are asked apart: decided at once, and given back where one of them
 * refuses.
 */

import { receiptFrom } from '../algorithms/receipt.js';
import type { Answer } from '../contract/answer.js';
import type { Step } from '../contract/store.js';

/** The steps of a group that are asked together. */
export interface Part<Name> {
  /** What they have in common, such as a shard or a hash slot. */
  readonly name: Name;
  readonly steps: readonly Step[];
  /** The place of each step in the whole group. */
  readonly places: readonly number[];
}

/** `always`: it gives back, so that no deadline may keep it from being done. */
type Ask<Name> = (
  steps: readonly Step[],
  name: Name,
  always: boolean,
) => readonly Answer[] | Promise<readonly Answer[]>;

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

/**
 * Asks all parts at once. What the others took is put back if one refuses, or fails and its `standIn` refuses. In
 * between, others may be refused for it: never too much is admitted, for a moment too little. The answers stand at the
 * places of their steps.
 *
 * @param standIn answers for a part that failed, and charges nothing
 */
export async function askParts<Name>(
  parts: readonly Part<Name>[],
  ask: Ask<Name>,
  standIn: (steps: readonly Step[], error: unknown) => readonly Answer[],
): Promise<Answer[]> {
  const results = await Promise.allSettled(
    parts.map(async ({ steps, name }) => ask(steps, name, false)),
  );
  const answers: Answer[] = [];
  const granted: Part<Name>[] = [];
  let refused = false;
  for (const [at, part] of parts.entries()) {
    const result = results[at] as PromiseSettledResult<readonly Answer[]>;
    const failed = result.status === 'rejected';
    const own = failed ? standIn(part.steps, result.reason) : result.value;
    place(part, own, answers);
    if (refuses(part.steps, own)) refused = true;
    else if (!failed) granted.push(part);
  }
  if (!refused) return answers;
  await Promise.all(granted.map((part) => putBack(part, answers, ask)));
  // As this group took for a moment and put back, others may have: what refused it may be gone.
  return parts.length > 1 ? answers.map(asProvisional) : answers;
}

function asProvisional(answer: Answer): Answer {
  return answer.allowed ? answer : { ...answer, provisional: true };
}

/** Puts the answers of a part where the whole group has its steps. */
export function place<Name>(part: Part<Name>, own: readonly Answer[], answers: Answer[]): void {
  for (const [i, at] of part.places.entries()) answers[at] = own[i] as Answer;
}

/** Whether what was answered refuses the group. */
export function refuses(steps: readonly Step[], answers: readonly Answer[]): boolean {
  return steps.some(({ op, binding }, i) => op === 'take' && binding && !answers[i]?.allowed);
}

/** Gives back what a part took, and puts the state after that into `answers`. */
async function putBack<Name>(part: Part<Name>, answers: Answer[], ask: Ask<Name>): Promise<void> {
  const puts: Step[] = [];
  const places: number[] = [];
  for (const [i, step] of part.steps.entries()) {
    const at = part.places[i] as number;
    const answer = answers[at] as Answer;
    if (step.op !== 'take' || step.cost === 0 || !answer.allowed || answer.failure) continue;
    puts.push({ ...step, op: 'put', receipt: receiptFrom(step.rule, answer, step.cost) });
    places.push(at);
  }
  if (puts.length === 0) return;
  try {
    const after = await ask(puts, part.name, true);
    for (const [i, answer] of after.entries()) {
      answers[places[i] as number] = { ...answer, allowed: true };
    }
  } catch {
    // Stays charged: too little is admitted, never too much.
  }
}
