/** Asks the store before a start once more whether the key is paused. One look does for all that start soon after. */

import type { Known } from './known.js';
import type { Line } from './line.js';
import type { Heard, Slot, Slots } from './slots.js';
import type { Timing } from './timing.js';

/** The key queue that it serves. */
interface LooksHost {
  readonly key: string;
  readonly slots: Slots;
  readonly line: Line;
  readonly known: Known;
  hear(heard: Heard): void;
}

export class Looks {
  private readonly host: LooksHost;
  private readonly timing: Timing;

  constructor(host: LooksHost, timing: Timing) {
    this.host = host;
    this.timing = timing;
  }

  /** When {@link begin} has something to do; Infinity if it has not, or the store is being asked. */
  dueUs(): number {
    return this.lookUs(this.unseen());
  }

  begin(nowUs: number): void {
    const { host, timing } = this;
    const slot = this.unseen();
    if (!slot || this.lookUs(slot) > nowUs) return;
    timing.isLooking = true;
    const untilUs = timing.looksUntilUs(slot, nowUs);
    void host.slots.look(host.key, (heard) => {
      timing.isLooking = false;
      if (!heard.pausedUntil) host.known.looked(untilUs);
      host.hear(heard);
    });
  }

  /** The first slot that an answer of before does not do for. */
  private unseen(): Slot | undefined {
    const { timing } = this;
    const { line } = this.host;
    if (line.length === 0 || timing.isLooking) return undefined;
    return line.firstBehind((slot) => timing.isSeen(slot));
  }

  private lookUs(slot: Slot | undefined): number {
    return slot ? this.timing.lookUs(slot, slot === this.host.line.first) : Infinity;
  }
}
