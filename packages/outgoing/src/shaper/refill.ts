/** Takes slots for jobs that were accepted and have none any more: until their deadlines such jobs go on waiting. */

import type { QueueRule } from '@spillway/core/store';
import type { Known } from './known.js';
import type { Line } from './line.js';
import type { Heard, Slot, Slots } from './slots.js';

/** After a refusal, or without an answer, the store is asked again at the earliest so much later. */
const LEAST_PAUSE_US = 50_000;

/** So many slots are asked for at the same moment, at most. A store on Redis takes them in one call. */
const MOST_AT_ONCE = 256;

/** The key queue that it serves. */
interface RefillHost {
  readonly key: string;
  readonly rule: QueueRule;
  readonly slots: Slots;
  readonly line: Line;
  readonly known: Known;
  hear(heard: Heard): void;
  place(heard: Heard, last: Slot | undefined): Heard;
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
    if (this.isBusy || line.missing(1).length === 0) return Infinity;
    return Math.max(this.fromUs, known.unheardUs);
  }

  async begin(): Promise<void> {
    const { line, slots } = this.host;
    this.isBusy = true;
    for (let costs = line.missing(1); costs.length > 0; ) {
      const last = await this.takeEach(costs);
      if (this.fromUs > slots.nowUs()) break;
      costs = upTo(this.roomAfter(last), line.missing(MOST_AT_ONCE));
    }
    this.isBusy = false;
    this.host.turn();
  }

  /** Takes slots of these costs, and finds out when the store can be asked for more. Resolves to its last answer. */
  private async takeEach(costs: readonly number[]): Promise<Heard> {
    const { host } = this;
    const { last } = host.line;
    const asked = costs.map((cost) => host.slots.take(host.key, cost, (heard) => heard));
    const told = await Promise.all(asked);
    for (const heard of told) host.hear(heard);
    const all = told.map((heard) => host.place(heard, last));
    const slots = all.flatMap(({ slot }) => slot ?? []);
    // The last first: the stand-in takes back only what it granted last.
    const useless = slots.filter((slot) => this.isUseless(slot)).reverse();
    for (const slot of useless) void host.slots.giveBack(slot);
    for (const slot of slots) if (!useless.includes(slot)) host.release(slot);
    this.fromUs = Math.max(...all.map((heard) => this.nextUs(heard)));
    return all.at(-1) as Heard;
  }

  /** How many units more would wait no longer than the longest wait, if nobody else takes any. */
  private roomAfter({ waitMs }: Heard): number {
    const { limit, windowUs, waitUs } = this.host.rule;
    return ((waitUs - waitMs * 1_000) * limit) / windowUs;
  }

  /** The stand-in does not know of a pause that another process began. */
  private isUseless(slot: Slot): boolean {
    return slot.isLocal && this.host.known.isPaused(slot);
  }

  /** When the store can be asked for another slot, if this one is missing or of no use. */
  private nextUs({ slot, waitMs }: Heard): number {
    const { known, rule, slots } = this.host;
    const nowUs = slots.nowUs();
    if (slot && this.isUseless(slot)) return known.freeUs(nowUs);
    // A slot inside a pause, which the store should know of, will be given up.
    if (slot) return known.isPaused(slot) ? nowUs + LEAST_PAUSE_US : nowUs;
    // What passes is at most `waitUs` away. Where nobody knows, the store is asked again soon.
    const passesUs = Number.isFinite(waitMs) ? waitMs * 1_000 - rule.waitUs : 0;
    return nowUs + Math.max(passesUs, LEAST_PAUSE_US);
  }
}

/** The first of these costs that come to at most so many units; at least one of them. */
function upTo(units: number, costs: readonly number[]): readonly number[] {
  let sum = 0;
  const end = costs.findIndex((cost) => {
    sum += cost;
    return sum > units;
  });
  return end < 0 ? costs : costs.slice(0, Math.max(end, 1));
}
