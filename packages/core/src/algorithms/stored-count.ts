import { SpillwayError } from '../base/errors.js';
import type { Answer } from '../contract/rule.js';
import type { Op, Step } from '../contract/store.js';

/** A count that was read from its text. Steps change it in place; the caller must store the new text. */
export interface StoredCount {
  step(step: Step, nowUs: number, charge: boolean): Answer;
  readonly changed: boolean;
  /** When the count expires and decides like an unused key. This may be in the past. */
  readonly expiresUs: number;
  text(): string;
}

/**
 * Whether a step changes the stored state. Steps that charge, give back or reset change it.
 *
 * @param acts whether the step passes or, like a `record`, applies anyway
 * @param repairs whether the clock went back so far that even an uncharged take corrects the state
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

export function numbersOf(text: string, form: RegExp): number[] {
  const match = form.exec(text);
  if (!match) throw unknownFormat();
  return match.slice(1).map((digits = '0') => wholeNumber(Number(digits)));
}

export function wholeNumber(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw unknownFormat();
}

export function unknownFormat(): SpillwayError {
  return new SpillwayError('SPW_STORE_ERROR', 'the stored value is not one of this format');
}
