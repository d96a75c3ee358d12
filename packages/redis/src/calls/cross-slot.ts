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
export function askSlots(
  steps: readonly Step[],
  slots: readonly number[],
  ask: Ask,
): Promise<readonly Answer[]> {
  return askParts(
    partsOf(steps, (_, place) => slots[place] as number),
    ask,
  );
}
