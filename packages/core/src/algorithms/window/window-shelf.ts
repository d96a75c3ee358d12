import type { Ask, WindowAnswer } from '../../contract/ask.js';
import type { WindowRule } from '../../contract/rule.js';
import type { Shelf, ShelfStep } from '../../contract/shelf.js';
import { KeySlots } from '../shelves/key-slots.js';
import { stepWindow, type WindowState } from './window-step.js';

/**
 * Windows in memory. The time of a slot is the last instant at which its window may count: the start of the window plus
 * two window lengths, minus one microsecond. The start follows from this time, because all rules with the same code
 * have the same window length. The numbers of a slot are the current and the previous count.
 */
export class WindowShelf implements Shelf<WindowRule, WindowState> {
  readonly grows = false;
  private readonly keys = new KeySlots(2);
  private readonly table = this.keys.table;
  private readonly state: WindowState = { dirty: false, startUs: 0, current: 0, previous: 0 };
  private slot = -1;

  get size(): number {
    return this.table.size;
  }

  find({ limiter, rule, key }: Ask<WindowRule>, nowUs: number): WindowState | undefined {
    const { state, table } = this;
    const slot = this.keys.findSlot(limiter, rule, key, nowUs);
    this.slot = slot;
    if (slot < 0) return undefined;
    state.startUs = table.timeAt(slot) + 1 - 2 * rule.windowUs;
    state.current = table.numberAt(slot, 0);
    state.previous = table.numberAt(slot, 1);
    return state;
  }

  stepStored(ask: Ask<WindowRule>, nowUs: number, charge: boolean): WindowAnswer | undefined {
    const count = this.find(ask, nowUs);
    return count && this.step({ ask, nowUs, charge, mayGrow: true, count });
  }

  step(step: ShelfStep<WindowRule, WindowState>): WindowAnswer {
    const { ask, nowUs, charge, mayGrow, count, other } = step;
    const { op, rule } = ask;
    const { state } = this;
    state.dirty = false;
    if (!count) {
      state.startUs = other ? other.startUs : 0;
      state.current = other ? other.current : 0;
      state.previous = other ? other.previous : 0;
    }
    const allowed = stepWindow(ask, state, nowUs, charge);
    // Another key may have started the shared window. Moving its start to now may be too strict, but is never too lax.
    const isShared = !mayGrow || (other !== undefined && !count);
    if (isShared && state.dirty && rule.kind === 'anchored' && op !== 'reset') {
      state.startUs = Math.max(state.startUs, nowUs);
    }
    if (state.dirty && (count || op !== 'reset')) {
      const at = count ? this.slot : this.keys.addSlot(nowUs);
      this.table.setTime(at, op === 'reset' ? 0 : state.startUs + 2 * rule.windowUs - 1);
      this.table.setNumber(at, 0, state.current);
      this.table.setNumber(at, 1, state.previous);
    }
    const { startUs, current, previous } = state;
    return { allowed, nowUs, startUs, current, previous };
  }

  expiresAtUs({ windowUs }: WindowRule, { startUs }: WindowAnswer): number {
    return startUs + 2 * windowUs;
  }

  reclaim(nowUs: number): void {
    this.table.reclaim(nowUs);
  }
}
