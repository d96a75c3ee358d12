/** A count that is stored as a text: what each machine makes of its text, and the error for a text that is not ours. */

import { SpillwayError } from '../base/errors.js';
import type { Answer } from '../contract/ask.js';
import type { Op, Step } from '../contract/store.js';

/** A count that was read from its text. Steps change it in place; nothing is stored until somebody writes its text. */
export interface StoredCount {
  /** Applies a step and answers it; see `stepBucket` for `charge`. */
  step(step: Step, nowUs: number, charge: boolean): Answer;
  /** Whether a step has changed what must be stored: see {@link isWritten}. */
  readonly changed: boolean;
  /** When the count will be the same as that of a key that was never used. A time in the past: it is already. */
  readonly expiresUs: number;
  /** The state as a text. */
  text(): string;
}

/**
 * Whether a step changes what must be stored. A step that charges, gives back or resets does. So does a take that is
 * not charged, if it `repairs` a state that is impossible because the clock went back.
 *
 * @param acts whether the step passes by itself, or acts in any case
 */
export function isWritten(
  { op, cost }: { readonly op: Op; readonly cost: number },
  acts: boolean,
  charge: boolean,
  repairs: boolean,
): boolean {
  if (op === 'reset') return true;
  if (op === 'look' || cost === 0) return false;
  return op === 'take' ? (acts && charge) || repairs : acts;
}

/**
 * The whole numbers of a text, as the groups of `form` name them.
 *
 * @throws SpillwayError `SPW_STORE_ERROR` if the text is of another form
 */
export function numbersOf(text: string, form: RegExp): number[] {
  const match = form.exec(text);
  if (!match) throw unknownFormat();
  return match.slice(1).map((digits = '0') => wholeNumber(Number(digits)));
}

/** @throws SpillwayError `SPW_STORE_ERROR` unless `value` is a whole number from 0 to 2^53 - 1 */
export function wholeNumber(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw unknownFormat();
}

/** The error for a text that no machine of ours has written. */
export function unknownFormat(): SpillwayError {
  return new SpillwayError('SPW_STORE_ERROR', 'the stored value is not one of this format');
}
