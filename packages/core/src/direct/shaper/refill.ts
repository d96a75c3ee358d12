/** Takes slots for jobs that were accepted and have none any more, one after another: such a job is never refused. */

import type { QueueRule } from '../../contract/rule.js';
import type { Known } from './known.js';
import type { Line } from './line.js';
import type { Heard, Slot, Slots } from './slots.js';

/** After a refusal, or without an answer, the store is asked again at the earliest so much later. */
const LEAST_PAUSE_US = 50_000;

/** The key queue that it serves. */
interface RefillHost {
  readonly key: string;
  readonly rule: QueueRule;
  readonly slots: Slots;
  readonly line: Line;
  readonly known: Known;
  hear(heard: Heard): void;
  release(slot: Slot): void;
  turn(): void;
}

export class Refill {
  isBusy = false;
  /** Not before is the store asked. */
  private fromUs = -Infinity;
  private readonly host: RefillHost;

  constructor(host: RefillHost) {
    this.host = host;
  }

  /** When {@link begin} has something to do; Infinity if nothing is missing, or is asked for already. */
  dueUs(): number {
    const { line, known } = this.host;
    if (this.isBusy || line.missing() === 0) return Infinity;
    return Math.max(this.fromUs, known.unheardUs);
  }

  async begin(): Promise<void> {
    const { host } = this;
    const { line } = host;
    this.isBusy = true;
    for (let cost = line.missing(); cost > 0; cost = line.missing()) {
      const heard = await host.slots.take(host.key, cost, (told) => told);
      host.hear(heard);
      this.fromUs = this.nextUs(heard);
      if (this.fromUs > host.slots.nowUs()) break;
      if (heard.slot) host.release(heard.slot);
    }
    this.isBusy = false;
    host.turn();
  }

  /** When the store can be asked for another slot, if this one is missing or no use. */
  private nextUs({ slot, waitMs }: Heard): number {
    const { known, rule, slots } = this.host;
    const nowUs = slots.nowUs();
    if (!slot) {
      // What passes is at most `waitUs` away. Where nobody knows, the store is asked again soon.
      const passesUs = Number.isFinite(waitMs) ? waitMs * 1_000 - rule.waitUs : 0;
      return nowUs + Math.max(passesUs, LEAST_PAUSE_US);
    }
    if (!slot.isLocal || !known.isPaused(slot)) return nowUs;
    // The stand-in does not know of a pause that another process began.
    void slots.giveBack(slot);
    return known.freeUs(nowUs);
  }
}
