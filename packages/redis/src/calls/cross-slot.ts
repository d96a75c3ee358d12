/** Decides a group whose keys are in several hash slots, slot by slot. */

import type { Answer, Step } from '@spillway/core';
import { askParts, partsOf } from '@spillway/core/store';

/** Sends steps of one slot. `always` is true for refunds, which are sent even after the deadline. */
type Ask = (steps: readonly Step[], slot: number, always: boolean) => Promise<readonly Answer[]>;

/**
 * Asks all slots in parallel. If one slot rejects its steps or its call fails, the charges in the other slots are
 * refunded. If any slot rejects, the group is rejected, and the answers to steps of failed calls have `failure`. If
 * calls fail and no slot rejects, the group fails.
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
