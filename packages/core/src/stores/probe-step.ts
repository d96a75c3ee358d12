/** What a store that did not answer is asked to find out whether it is back. */

import { fixedWindow } from '../algorithms/values.js';
import type { Answer } from '../contract/ask.js';
import type { Step } from '../contract/store.js';

/** Whoever failed to reach the store: its question goes the same way. */
export interface Asker {
  /** How long {@link question} may take, in microseconds. */
  readonly timeoutUs: number;
  question(step: Step): readonly Answer[] | Promise<readonly Answer[]>;
}

/**
 * Charges something, for a second, that nobody counts: a store that can only read, or has no memory left, is not back.
 * No limiter can have this name, so that the count is nobody's.
 */
const QUESTION: Omit<Step, 'key'> = {
  op: 'take',
  limiter: '\u0001probe',
  rule: fixedWindow.makeRule(1_000_000, 1_000_000, 1_000_000, 'epoch'),
  cost: 1,
  binding: false,
};

/** The question, beside a key that failed: it lies where the store failed. */
export function questionAt(key: string): Step {
  return { ...QUESTION, key };
}
