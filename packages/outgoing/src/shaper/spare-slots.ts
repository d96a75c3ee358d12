/** Gives back the last slots of a line that no job needs, as long as nobody elsewhere waits behind them. */

import { outside } from '@spillway/core/direct';
import type { Line } from './line.js';
import type { Slots } from './slots.js';

export class SpareSlots {
  isBusy = false;
  private returning: Promise<void> | undefined;
  private readonly line: Line;
  private readonly slots: Slots;
  private readonly done: () => void;

  /** @param done told when no more can be given back */
  constructor(line: Line, slots: Slots, done: () => void) {
    this.line = line;
    this.slots = slots;
    this.done = done;
  }

  /** Resolves when no more can be given back; never rejects. */
  giveBack(): Promise<void> {
    // Kept for whoever asks next, but not the context of the first one.
    if (!this.isBusy || !this.returning) this.returning = outside(() => this.giveBackAll());
    return this.returning;
  }

  private async giveBackAll(): Promise<void> {
    const { line } = this;
    this.isBusy = true;
    for (let slot = line.last; slot && line.isSpare(slot); slot = line.last) {
      line.removeSlot(slot);
      const given = await this.slots.giveBack(slot);
      if (given === 'done') continue;
      if (given === 'kept') line.addSlot(slot); // for the next job that comes here
      if (given === 'unknown' || line.last === slot) break;
      // A later one has come meanwhile.
    }
    this.isBusy = false;
    this.done();
  }
}
