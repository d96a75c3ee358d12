/**
 * Decides a group whose keys are in several hash slots of one node, or of nodes that cannot be told apart: slot by
 * slot.
 */

import type { Answer, Step } from '@spillway/core';
import { askParts, partsOf } from '@spillway/core/store';

/** Sends steps of one slot. `always`: they give back, so they have no deadline. */
type Ask = (steps: readonly Step[], slot: number, always: boolean) => Promise<readonly Answer[]>;

/**
 * Asks all slots at once. If one slot refuses or fails, gives back what the others took. If one fails, the group fails,
 * unless another slot refuses: then the group is refused, and the answers to the failed steps have `failure`.
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
      // The group is refused, so what the other slots took is given back.
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
