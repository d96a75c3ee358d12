/** Puts off slots that a store grants too soon, because it does not know of all that it should. */

import { periodUsOf } from './hearing.js';
import type { Heard, Slot } from './slots.js';
import type { Timing } from './timing.js';

export class PutOff {
  /** By so much the store, which lost its data, is behind what it granted before. */
  private lostUs = 0;
  private readonly timing: Timing;
  private readonly mostUs: number;

  /** @param mostUs the longest wait */
  constructor(timing: Timing, mostUs: number) {
    this.timing = timing;
    this.mostUs = mostUs;
  }

  /** Slots that were granted before are over. */
  forget(): void {
    this.lostUs = 0;
  }

  /**
   * What was heard, with the slot put off if it must be, or `tooFar` then. By so much as a store has lost all its slots
   * are put off: so those of several processes keep their pace, behind what it granted before.
   *
   * @param kept a slot that this process had when it asked, and has still: a store grants none before it
   */
  place(heard: Heard, kept: Slot | undefined): Heard {
    const { slot, heardUs } = heard;
    if (!slot || slot.isLocal) return heard;
    if (kept) this.compare(slot, kept);
    const { lostUs } = this;
    const late = lostUs > 0 ? { ...slot, at: slot.at.later(lostUs) } : slot;
    const startUs = this.timing.startUs(late);
    if (startUs <= slot.at.localUs) return heard;
    const waitMs = (startUs - heardUs) / 1_000;
    const isTooFar = startUs - heardUs > this.mostUs;
    if (isTooFar) return { ...heard, slot: undefined, tooFar: slot, waitMs };
    return { ...heard, slot: late, waitMs };
  }

  private compare(slot: Slot, kept: Slot): void {
    // With another pace, a burst may begin earlier.
    if (kept.isLocal || kept.step.rule !== slot.step.rule) return;
    if (!slot.at.later(this.lostUs).isBefore(kept.at)) return;
    this.lostUs = Math.ceil(kept.at.localUs - slot.at.localUs + slot.cost * periodUsOf(slot));
  }
}
