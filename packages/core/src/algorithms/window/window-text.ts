/** Windows as stored text, as in Redis: `start:current:previous`. */

import type { Ask, WindowAnswer } from '../../contract/ask.js';
import type { WindowRule } from '../../contract/rule.js';
import type { Step } from '../../contract/store.js';
import { numbersOf, type StoredCount } from '../stored-count.js';
import { stepWindow, type WindowState } from './window-step.js';

const FORM = /^(\d+):(\d+):(\d+)$/;

export function readWindow(text: string | undefined): StoredCount {
  const [startUs = 0, current = 0, previous = 0] = text === undefined ? [] : numbersOf(text, FORM);
  return new StoredWindow({ dirty: false, startUs, current, previous });
}

class StoredWindow implements StoredCount {
  changed = false;
  expiresUs = 0;
  private readonly state: WindowState;

  constructor(state: WindowState) {
    this.state = state;
  }

  step(step: Step, nowUs: number, charge: boolean): WindowAnswer {
    const { state } = this;
    const ask = step as Ask<WindowRule>;
    const { windowUs, kind } = ask.rule;
    const allowed = stepWindow(ask, state, nowUs, charge);
    const { startUs, current, previous } = state;
    if (state.dirty) this.changed = true;
    this.expiresUs =
      ask.op === 'reset' ? 0 : startUs + (kind === 'sliding' ? 2 * windowUs : windowUs);
    return { allowed, nowUs, startUs, current, previous };
  }

  text(): string {
    const { startUs, current, previous } = this.state;
    return `${startUs}:${current}:${previous}`;
  }
}
