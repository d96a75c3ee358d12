import type { Answer, Step } from '@spillway/core';
import { askParts, partsOf } from '@spillway/core/store';

/** Sends steps of one slot. `always` is true for refunds, which are sent even after the deadline. */
type Ask = (steps: readonly Step[], slot: number, always: boolean) => Promise<readonly Answer[]>;

/**
 * Asks all slots in parallel. If a slot rejects its steps or its call fails, the charges in the other slots are
 * refunded.
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
