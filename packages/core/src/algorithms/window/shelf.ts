/** The windows of a store in memory. */

import type { WindowAnswer } from '../../contract/answer.js';
import type { Ask } from '../../contract/ask.js';
import type { WindowRule } from '../../contract/rule.js';
import type { Shelf } from '../../contract/shelf.js';
import { type Expiring, KeyedStates } from '../shelves/keyed-states.js';
import { stepWindow, type WindowState } from './step.js';

type StoredWindow = WindowState & Expiring;

export class WindowShelf implements Shelf<WindowRule, StoredWindow> {
  readonly grows = false;
  private readonly states = new KeyedStates<StoredWindow>();

  get size(): number {
    return this.states.size;
  }

  find({ limiter, rule, key }: Ask<WindowRule>): StoredWindow | undefined {
    return this.states.get(limiter, rule.code, key);
  }

  stepKept(ask: Ask<WindowRule>, nowUs: number, charge: boolean): WindowAnswer | undefined {
    const stored = this.find(ask);
    return stored && this.step(ask, nowUs, charge, true, stored);
  }

  step(
    ask: Ask<WindowRule>,
    nowUs: number,
    charge: boolean,
    mayGrow: boolean,
    stored?: StoredWindow,
    other?: StoredWindow,
  ): WindowAnswer {
    const { op, rule } = ask;
    const from = stored ?? other;
    // A copy, because looking and refusing must not change the stored state.
    const state: WindowState = {
      dirty: false,
      startUs: from ? from.startUs : 0,
      current: from ? from.current : 0,
      previous: from ? from.previous : 0,
    };
    const allowed = stepWindow(rule, state, op, ask.cost, nowUs, charge, ask.receipt);
    // A shared window may have begun with another key: one that ends later is too strict, never too lax.
    const isShared = !mayGrow || (other !== undefined && !stored);
    if (isShared && state.dirty && rule.kind === 'anchored' && op !== 'reset') {
      state.startUs = Math.max(state.startUs, nowUs);
    }
    if (op === 'reset') this.states.delete(ask.limiter, rule.code, ask.key);
    else if (state.dirty) this.keep(ask, stored, state);
    const { startUs, current, previous } = state;
    return { allowed, nowUs, startUs, current, previous };
  }

  restsAt({ windowUs }: WindowRule, { startUs }: WindowAnswer): number {
    return startUs + 2 * windowUs;
  }

  reclaim(nowUs: number): void {
    this.states.reclaim(nowUs, () => undefined);
  }

  private keep(
    { limiter, rule, key }: Ask<WindowRule>,
    stored: StoredWindow | undefined,
    { startUs, current, previous }: WindowState,
  ): void {
    const expiresUs = startUs + 2 * rule.windowUs;
    // Field by field: a copy made with a spread or Object.assign took 2.5 times the memory and, with 10,000 keys, 5
    // times the time.
    if (stored) {
      stored.startUs = startUs;
      stored.current = current;
      stored.previous = previous;
      stored.expiresUs = expiresUs;
    } else {
      const fresh = { dirty: false, startUs, current, previous, expiresUs };
      this.states.set(limiter, rule.code, key, fresh);
    }
  }
}
