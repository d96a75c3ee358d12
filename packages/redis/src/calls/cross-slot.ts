/**
 * A group whose keys lie in several hash slots of one node, or of nodes that nobody can tell apart: decided slot by
 * slot.
 */

import type { Answer, Step } from '@spillway/core';
import { askParts, partsOf } from '@spillway/core/store';

/** `always`: it gives back, which has no deadline. */
type Ask = (steps: readonly Step[], slot: number, always: boolean) => Promise<readonly Answer[]>;

/**
 * Asks all slots at once. If one refuses or fails, what the others took is put back. One that fails fails the group,
 * unless another refuses it: then that is the answer, and the steps that failed say so in `failure`.
 */
export async function askSlots(
  steps: readonly Step[],
  slots: readonly number[],
  ask: Ask,
): Promise<readonly Answer[]> {
  let failure: Error | undefined;
  const answers = await askParts(
    partsOf(steps, (_, place) => slots[place] as number),
    ask,
    (failed, error) => {
      failure ??= error as Error;
      // Refused, so that nothing that others took is kept.
      return failed.map(() => ({ allowed: false, ...NOTHING_KNOWN, failure: error as Error }));
    },
  );
  if (!failure) return answers;
  if (!steps.some((step, i) => refuses(step, answers[i]))) throw failure;
  return answers.map((answer) => (answer.failure ? { ...answer, allowed: true } : answer));
}

const NOTHING_KNOWN = { nowUs: 0, tatUs: 0, tatNum: 0 };

function refuses({ op, binding }: Step, answer: Answer | undefined): boolean {
  return op === 'take' && binding && answer?.failure === undefined && answer?.allowed === false;
}
