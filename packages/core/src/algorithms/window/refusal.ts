/** How the refusal of a window is remembered: it holds until the cost passes. */

import type { WindowAnswer } from '../../contract/ask.js';
import type { RefusalMemory, WindowRule } from '../../contract/rule.js';
import { stepWindow } from './step.js';

export const windowRefusals: RefusalMemory = {
  holdsMs: (_, { retryAfterMs }) => retryAfterMs,
  tells: (cost, kept) => cost >= kept,
  write({ startUs, current, previous }: WindowAnswer, numbers, at) {
    numbers[at] = startUs;
    numbers[at + 1] = current;
    numbers[at + 2] = previous;
  },
  /** In the window of `nowUs`, which may be a later one. */
  read(rule: WindowRule, numbers, at, nowUs): WindowAnswer {
    const state = {
      dirty: false,
      startUs: numbers[at] as number,
      current: numbers[at + 1] as number,
      previous: numbers[at + 2] as number,
    };
    stepWindow(rule, state, 'look', 1, nowUs, false);
    const { startUs, current, previous } = state;
    return { allowed: false, nowUs, startUs, current, previous };
  },
};
