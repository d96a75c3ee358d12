/** Slots by time. The first and the last are taken away at once, however many there are. */

import type { Slot } from './slots.js';

export class SlotRow {
  private slots: Slot[] = [];
  /** Where the first slot stands. */
  private head = 0;

  get first(): Slot | undefined {
    return this.slots[this.head];
  }

  get last(): Slot | undefined {
    return this.slots.at(-1);
  }

  /** Puts it behind those that are not later. */
  add(slot: Slot): void {
    const { slots, head } = this;
    let at = slots.length;
    while (at > head && slot.at.isBefore((slots[at - 1] as Slot).at)) at -= 1;
    if (at === slots.length) slots.push(slot);
    else slots.splice(at, 0, slot);
  }

  remove(slot: Slot): void {
    const { slots } = this;
    if (slot === this.first) this.head += 1;
    else if (slot === slots.at(-1)) slots.pop();
    else slots.splice(slots.indexOf(slot, this.head), 1);
    // Moved up only when half of it is empty: so each slot is moved once, on average.
    if (2 * this.head < slots.length) return;
    this.slots = slots.slice(this.head);
    this.head = 0;
  }

  /** The first one behind those of which something holds: of all up to one of them. */
  firstBehind(holds: (slot: Slot) => boolean): Slot | undefined {
    const { slots } = this;
    let from = this.head;
    let to = slots.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (holds(slots[middle] as Slot)) from = middle + 1;
      else to = middle;
    }
    return slots[from];
  }

  *[Symbol.iterator](): Generator<Slot, void> {
    const { slots } = this;
    for (let at = this.head; at < slots.length; at += 1) yield slots[at] as Slot;
  }

  /** When those of one cost are, in order. */
  *timesOf(cost: number): Generator<number, void> {
    for (const slot of this) if (slot.cost === cost) yield slot.at.localUs;
  }

  /** Those that fit. */
  filter(fits: (slot: Slot) => boolean): readonly Slot[] {
    return this.slots.slice(this.head).filter(fits);
  }
}
