/** The windows of a memory store. */

import { stepWindow, type WindowState } from '../algorithms/window/step.js';
import type { WindowAnswer } from '../contract/answer.js';
import type { WindowRule } from '../contract/rule.js';
import type { Step } from '../contract/store.js';
import { type Expiring, KeyedStates } from './keyed-states.js';

type StoredWindow = WindowState & Expiring;

export class WindowShelf {
  private readonly states = new KeyedStates<StoredWindow>();

  get size(): number {
    return this.states.size;
  }

  get({ limiter, rule }: Step, key: string): StoredWindow | undefined {
    return this.states.get(limiter, rule.code, key);
  }

  /** Applies `step` to the window under `key`, which was found as `stored`. If there is none, begins with `other`. */
  step(
    step: Step,
    rule: WindowRule,
    key: string,
    nowUs: number,
    charge: boolean,
    stored: StoredWindow | undefined,
    other?: StoredWindow,
  ): WindowAnswer {
    const from = stored ?? other;
    // A copy, because looking and refusing must not change the stored state.
    const state: WindowState = {
      dirty: false,
      startUs: from ? from.startUs : 0,
      current: from ? from.current : 0,
      previous: from ? from.previous : 0,
    };
    const allowed = stepWindow(rule, state, step.op, step.cost, nowUs, charge, step.receipt);
    if (step.op === 'reset') this.states.delete(step.limiter, rule.code, key);
    else if (state.dirty) this.keep(step, rule, key, stored, state);
    const { startUs, current, previous } = state;
    return { allowed, nowUs, startUs, current, previous };
  }

  reclaim(nowUs: number): void {
    this.states.reclaim(nowUs, () => undefined);
  }

  private keep(
    { limiter }: Step,
    { code, windowUs }: WindowRule,
    key: string,
    stored: StoredWindow | undefined,
    { startUs, current, previous }: WindowState,
  ): void {
    const expiresUs = startUs + 2 * windowUs;
    // Field by field: a copy made with a spread or Object.assign took 2.5 times the memory and, with 10,000 keys, 5
    // times the time.
    if (stored) {
      stored.startUs = startUs;
      stored.current = current;
      stored.previous = previous;
      stored.expiresUs = expiresUs;
    } else {
      const fresh = { dirty: false, startUs, current, previous, expiresUs };
      this.states.set(limiter, code, key, fresh);
    }
  }
}
