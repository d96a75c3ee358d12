import type { Ask, QueueAnswer } from '../../contract/ask.js';
import type { QueueRule } from '../../contract/rule.js';
import type { Shelf, ShelfStep } from '../../contract/shelf.js';
import { KeySlots } from '../shelves/key-slots.js';
import { noQueue, type QueueState, restOf, stepQueue } from './queue-step.js';

const UNUSED: Readonly<QueueState> = /* @__PURE__ */ noQueue();

const NUMBERS = 5;

// Where the numbers of a state follow its instant `us`.
const NUM = 1;
const DEN = 2;
const SPAN = 3;
const PAUSE = 4;

/**
 * Shaper queues in memory. The table evicts a slot after the instant `us` of its state. A pause ends at `us` or
 * earlier, so no running pause is lost.
 *
 * The table is flat because with 10,000 keys, storing each state as an object took 1.4 times as long.
 */
export class QueueShelf implements Shelf<QueueRule, QueueState> {
  readonly grows = false;
  private readonly keys = new KeySlots(NUMBERS);
  private readonly table = this.keys.table;
  private readonly state = noQueue();
  private slot = -1;

  get size(): number {
    return this.table.size;
  }

  find(ask: Ask<QueueRule>, nowUs: number): QueueState | undefined {
    return this.load(this.keys.findSlot(ask.limiter, ask.rule, ask.key, nowUs));
  }

  stepStored(ask: Ask<QueueRule>, nowUs: number, charge: boolean): QueueAnswer | undefined {
    const slot = this.keys.findSlot(ask.limiter, ask.rule, ask.key, nowUs);
    if (slot < 0) return undefined;
    const taken = charge && this.takeWhole(slot, ask, nowUs);
    return taken || this.step({ ask, nowUs, charge, mayGrow: true, count: this.load(slot) });
  }

  /**
   * Does what {@link step} does for the usual take, a seventh faster. In the usual take, the key is in use and not
   * paused, its units refill in whole microseconds, and the cost passes. Returns undefined for other steps. If you
   * change this, change {@link stepQueue} too.
   */
  private takeWhole(
    slot: number,
    { op, rule, cost, startUs }: Ask<QueueRule>,
    nowUs: number,
  ): QueueAnswer | undefined {
    const { cells } = this.table.slots;
    const at = (NUMBERS + 1) * slot + 1;
    const us = cells[at] as number;
    const tatUs = us + cost * rule.period;
    if (
      op === 'take' &&
      cost <= rule.burst &&
      !startUs &&
      us > nowUs &&
      (cells[at + PAUSE] as number) <= nowUs &&
      // With such a span, the last condition also excludes an instant that `stepQueue` would correct because the clock
      // went back.
      (cells[at + SPAN] as number) >= rule.spanUs &&
      (cells[at + DEN] as number) * rule.den === 1 &&
      tatUs <= nowUs + rule.spanUs
    ) {
      cells[at] = tatUs;
      return { allowed: true, nowUs, tatUs, tatNum: 0, pausedUntilUs: 0 };
    }
    return undefined;
  }

  step({ ask, nowUs, charge, count, other }: ShelfStep<QueueRule, QueueState>): QueueAnswer {
    const { state } = this;
    if (!count) Object.assign(state, other ?? UNUSED);
    state.dirty = false;
    const answer = stepQueue(ask, state, nowUs, charge);
    const isIdle = restOf(state) <= nowUs;
    if (state.dirty && (count || !isIdle)) {
      this.store(count ? this.slot : this.keys.addSlot(nowUs), isIdle ? UNUSED : state);
    }
    return answer;
  }

  expiresAtUs(_: QueueRule, { tatUs, pausedUntilUs }: QueueAnswer): number {
    return Math.max(tatUs + 1, pausedUntilUs);
  }

  reclaim(nowUs: number): void {
    this.table.reclaim(nowUs);
  }

  private load(slot: number): QueueState | undefined {
    this.slot = slot;
    if (slot < 0) return undefined;
    const { state } = this;
    const { cells } = this.table.slots;
    const at = (NUMBERS + 1) * slot + 1;
    state.us = cells[at] as number;
    state.num = cells[at + NUM] as number;
    state.den = cells[at + DEN] as number;
    state.spanUs = cells[at + SPAN] as number;
    state.pauseUs = cells[at + PAUSE] as number;
    return state;
  }

  private store(slot: number, { us, num, den, spanUs, pauseUs }: Readonly<QueueState>): void {
    const { cells } = this.table.slots;
    const at = (NUMBERS + 1) * slot + 1;
    cells[at] = us;
    cells[at + NUM] = num;
    cells[at + DEN] = den;
    cells[at + SPAN] = spanUs;
    cells[at + PAUSE] = pauseUs;
  }
}
