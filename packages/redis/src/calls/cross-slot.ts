/** Decides a group whose keys are in several hash slots, slot by slot. */

import type { Answer, Step } from '@spillway/core';
import { askParts, partsOf } from '@spillway/core/store';

/** Sends steps of one slot. With `always`, they are refunds, which have no deadline. */
type Ask = (steps: readonly Step[], slot: number, always: boolean) => Promise<readonly Answer[]>;

/**
 * Asks all slots in parallel. If one slot rejects or fails, the charges of the others are refunded. If a slot fails,
 * the group fails. But if another slot rejects, the group is rejected, and the answers to the failed steps have
 * `failure`.
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
